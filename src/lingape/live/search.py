"""A search with one worker, which pulls arms by running a command: what lingape find does.

Nothing is kept but the log of the experiment. A pull that was under way when the search was killed
has a ticket without an answer, and is made again under that ticket; one that fails is voided, and
the arm asked for again.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from ..errors import Conflict, ExplorationOver, InvalidReward, InvalidState
from ..noise import Bounded
from ..printable import printable
from .command import SLICE, Command, Stop
from .events import Asked, Voided
from .experiment import Experiment
from .texts import shortened
from .tickets import Ticket, tickets_of

OUTSIDE = "printed a reward outside the range promised"  # the reason of such a void
SETTLED, AT_LIMIT = "settled", "stopped at the pull limit"
INTERRUPTED, COMMAND_FAILED = "interrupted", "the command failed"


class SearchEnd(NamedTuple):
    """How a search ended, and which pull failed."""

    words: str
    pull: str = ""
    attempts: int = 0
    failure: str | None = None  # continues "the command ..."

    @property
    def outside(self) -> bool:
        """Whether the command printed a reward that was promised not to come."""
        return (self.failure or "").startswith(OUTSIDE)


class Search:
    """One worker: it asks, runs the command, and tells.

    show: called with the number of rewards and the ticket when a pull begins.
    note: called with a sentence for the user.
    """

    def __init__(
        self,
        experiment: Experiment,
        command: Command,
        stop: Stop,
        show: Callable[[int, Ticket], None],
        note: Callable[[str], None],
    ) -> None:
        self.command, self._worker = command, shortened(f"find: {printable(command.template)}")
        self._experiment, self._stop, self._show, self._note = experiment, stop, show, note
        with experiment.current() as replay:
            self.progress, waiting = replay.progress, set(replay.open)
            self._problem = replay.problem
        self.left: list[Ticket] = []  # under way when the search was killed
        self.other_command = False  # the last pull in the log was made with another one
        self._read_log(waiting)

    def _read_log(self, waiting: set[str]) -> None:
        """Find what an earlier search left; raise if its command broke what was promised."""
        for event in self._experiment.events():
            if isinstance(event, Asked) and (event.worker or "").startswith("find: "):
                self.other_command = event.worker != self._worker
                self.left += [t for t in tickets_of(event, self._problem) if t.id in waiting]
            elif isinstance(event, Voided) and event.reason.startswith(OUTSIDE):
                raise InvalidState(
                    f"Event {event.seq} of the log says that the command {event.reason}. To make "
                    "that pull again would be to choose among rewards, which the guarantee does "
                    "not allow. Start another log with --log PATH and the range that rewards "
                    "really have."
                )

    def run(self, max_pulls: int | None, retries: int, wait: float) -> SearchEnd:
        """Pull until the question is answered, or until it has to stop."""
        attempt = 1
        while not self.progress.settled:
            if max_pulls is not None and self.progress.pulls >= max_pulls:
                return SearchEnd(AT_LIMIT)
            if self._stop.soon:
                return SearchEnd(INTERRUPTED)
            try:
                ticket = self._next()
                self._show(self.progress.pulls, ticket)
                title, failure = self.title(ticket), self._pull(ticket)
            except (Conflict, ExplorationOver) as reason:  # another search has the same log
                self._note(str(reason))
                with self._experiment.current() as replay:
                    self.progress = replay.progress
                continue
            if failure is None:
                attempt = 1
                continue
            # A reward outside is not drawn again: to draw until it fits breaks the guarantee.
            outside = failure.startswith(OUTSIDE)
            if attempt <= retries and not outside and not self._stop.soon:
                seconds = wait * 2 ** (attempt - 1)
                self._note(f"{title} failed: the command {failure}. Again in {seconds:g} s.")
                self._pause(seconds)
            if self._stop.soon and not outside:
                return SearchEnd(INTERRUPTED, title, attempt, failure)
            if attempt > retries or outside:
                return SearchEnd(COMMAND_FAILED, title, attempt, failure)
            attempt += 1
        return SearchEnd(SETTLED)

    def _next(self) -> Ticket:
        if self.left:
            return self.left.pop(0)
        return self._experiment.ask(worker=self._worker, ttl=None)[0]

    def _pull(self, ticket: Ticket) -> str | None:
        """Run the command and tell the reward; return why there is none, if so."""
        result = self.command.run(ticket, self.progress.pulls + 1, self._stop)
        try:
            if isinstance(result, float):
                self.progress = self._experiment.tell(ticket, result)
                return None
            failure = str(result)
        except InvalidReward:
            noise = self._problem.noise
            assert isinstance(noise, Bounded)  # the others refuse no finite number
            failure = f"{OUTSIDE}: {result!r}, where rewards have to be {noise.words}"
        self.progress = self._experiment.void(ticket, shortened(failure))
        return failure

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stop.soon and (rest := end - time.monotonic()) > 0:
            time.sleep(min(SLICE, rest))

    def title(self, ticket: Ticket) -> str:
        """Return what to call a pull in messages."""
        number = "" if self._problem.names is None else f" (arm {ticket.arm})"
        return f"Pull {self.progress.pulls + 1} of {printable(ticket.name)}{number}"
