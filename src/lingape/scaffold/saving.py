"""Save an explorer as plain data, and read it back to the last bit.

A saved state has the settings, counts and sums, the caches of the estimate, and what parts keep of
their own. What follows from these is checked when it is read.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

from ..arrays import IntArray
from ..bounds import BOUNDS, Bound
from ..certificate import Certificate, same_p_values
from ..errors import InvalidState, in_words
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PULLS
from ..registry import describe, revive

VERSION = 3


class Savable(ABC):
    """Adds `state` and `from_state` to explorers."""

    # What the constructor takes beside the problem and the bound, by name, as plain data.
    settings: ClassVar[tuple[str, ...]] = ()

    problem: Problem
    bound: Bound
    estimate: LeastSquares
    _verdict: Certificate | None

    @abstractmethod
    def __init__(self, problem: Problem, *, bound: Bound, ridge: float | None) -> None: ...

    @property
    @abstractmethod
    def counts(self) -> IntArray: ...

    @abstractmethod
    def _certificate(
        self, arms: list[int], margin: float, pulls: int, settled: bool
    ) -> Certificate: ...

    @abstractmethod
    def _kept(self) -> dict[str, Any]:
        """Return what is kept beside the estimate, as JSON-able data."""

    @abstractmethod
    def _restore(self, kept: dict[str, Any]) -> None:
        """Take over what `_kept` returned, after the estimate's data.

        May raise KeyError, TypeError or ValueError if the data are damaged.
        """

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as JSON-able data."""
        return {"problem": self.problem.to_dict(), **self.progress()}

    def progress(self) -> dict[str, Any]:
        """Return the state without the problem, which never changes and may be large."""
        return {
            "format": self._format(),
            "version": VERSION,
            "bound": describe(self.bound, BOUNDS),
            "ridge": self._ridge_given(),
            "settings": {name: self._describe(name) for name in self.settings},
            "estimate": self.estimate.state(),
            "verdict": None if self._verdict is None else self._verdict.to_dict(),
            "kept": self._kept(),
        }

    @classmethod
    def _format(cls) -> str:
        return f"lingape explorer state: {cls.__name__}"

    def _ridge_given(self) -> float:
        """Return the ridge that the constructor was given, or what it chose."""
        return self.estimate.ridge

    def _describe(self, name: str) -> Any:
        """Return a setting as plain data."""
        return describe(self.pull, PULLS) if name == "pull" else getattr(self, name)  # type: ignore[attr-defined]

    @classmethod
    def from_state(cls, state: dict[str, Any], **parts: Any) -> Self:
        """Return the explorer that `state` was taken from, to the last bit.

        parts: `bound`, or settings by name; needed only for parts of your own that are not
            registered.
        """
        if not isinstance(state, dict) or state.get("format") != cls._format():
            raise InvalidState(
                f"A saved state must be a dict with format {cls._format()!r}; got "
                f"{state.get('format') if isinstance(state, dict) else type(state).__name__!r}. "
                "Pass what state() returned."
            )
        if state.get("version") != VERSION:
            raise InvalidState(
                f"This version reads states of version {VERSION}; got {state.get('version')!r}. "
                "Read it with the version of lingape that wrote it."
            )
        _check_kinds(state, ("problem", "bound", "settings"))
        brought = {name for name, part in parts.items() if part is not None}
        try:
            problem, settings = Problem(**state["problem"]), state["settings"]
            if "bound" not in parts:
                parts["bound"] = revive(state["bound"], BOUNDS, argument="bound")
            for name in cls.settings:
                if name not in parts:
                    saved = settings[name]
                    parts[name] = revive(saved, PULLS, argument=name) if name == "pull" else saved
            explorer = cls(problem, ridge=state["ridge"], **parts)
        except (KeyError, TypeError, ValueError) as reason:
            if isinstance(reason, InvalidState):
                raise
            raise InvalidState(
                f"The saved state is damaged: {in_words(reason)}. Restore an undamaged copy."
            ) from reason
        explorer._check_settings(state, brought)
        explorer._take_over(state)
        return explorer

    def resumed(self, progress: dict[str, Any]) -> Self:
        """Return a copy of this explorer, which has no data, with those that `progress` saved.

        As `from_state`, for an explorer that is at hand: what follows from the problem alone is
        not computed again.
        """
        mine = self.progress()
        for part in ("format", "version", "bound", "ridge", "settings"):
            if progress.get(part) != mine[part]:
                raise InvalidState(
                    f"The saved {part} is {progress.get(part)!r}, and this explorer's "
                    f"{mine[part]!r}. Use from_state instead."
                )
        explorer = copy.deepcopy(self)
        explorer._take_over(progress)
        return explorer

    def _take_over(self, state: dict[str, Any]) -> None:
        """Take over the data of a saved state, and its verdict."""
        _check_kinds(state, ("estimate", "kept"))
        if "verdict" not in state:
            raise InvalidState("The saved state lacks a verdict. Restore an undamaged copy.")
        try:
            self._prepare(state["kept"])
            self.estimate.restore(
                state.get("estimate"), noise_scale=self.problem.noise.scale or 0.0
            )
            self._restore(state["kept"])
        except (KeyError, TypeError, ValueError, ArithmeticError) as reason:
            if isinstance(reason, InvalidState):
                raise
            raise InvalidState(
                f"What was saved beside the estimate is damaged: {in_words(reason)}. Restore an "
                "undamaged copy."
            ) from reason
        if (verdict := state["verdict"]) is not None:
            self._verdict = self._revived(verdict)
        self._check_restored()

    def _check_settings(self, state: dict[str, Any], brought: set[str]) -> None:
        """Raise InvalidState if settings were saved that this explorer does not have.

        Explorers that bring their bound, or take no settings, do not read what was saved of them.
        brought: settings that do not come from the state.
        """
        mine = {"bound": describe(self.bound, BOUNDS), "ridge": self._ridge_given()}
        mine |= {name: self._describe(name) for name in self.settings}
        saved = {name: state.get(name) for name in ("bound", "ridge")} | state["settings"]
        for name in (saved.keys() | mine.keys()) - brought:
            if name not in mine or name not in saved or saved[name] != mine[name]:
                raise InvalidState(
                    f"The saved {name} is {saved.get(name)!r}, and this explorer's "
                    f"{mine.get(name)!r}. Restore an undamaged copy."
                )

    def _prepare(self, kept: dict[str, Any]) -> None:
        """Get ready for the estimate's data; by default there is nothing to do."""
        return

    def _check_restored(self) -> None:
        """Raise InvalidState if what was read does not hold together."""
        return

    def _revived(self, verdict: Any) -> Certificate:
        """Return a saved verdict, after checking that it is about this problem."""
        try:
            arms, margin, pulls = verdict["arms"], verdict["gap_bound"], verdict["pulls"]
            fine = 0 <= margin <= self.problem.epsilon and 0 < pulls <= self.counts.sum()
            found = [self.problem.check_arm(arm) for arm in arms]
            again = self._certificate(found, float(margin), pulls, True)
            fine = fine and same_p_values(verdict["p_values"], again.p_values)
            if fine and again.p_values is not None:  # as they were, to the last bit
                again = replace(again, p_values=tuple(verdict["p_values"]))
        except (KeyError, TypeError, ValueError) as reason:
            raise InvalidState(
                f"The saved verdict is damaged: {in_words(reason)}. Restore an undamaged copy."
            ) from reason
        if not fine or again.to_dict() != verdict:
            raise InvalidState(
                "The saved verdict does not follow from the saved problem, bound and counts. "
                "Restore an undamaged copy."
            )
        return again


def _check_kinds(state: dict[str, Any], names: tuple[str, ...]) -> None:
    """Raise InvalidState unless these parts of a saved state are mappings."""
    for name in names:
        if not isinstance(state.get(name), dict):
            raise InvalidState(
                f"The saved {name} must be a mapping; got {state.get(name)!r}. Restore an "
                "undamaged copy."
            )
