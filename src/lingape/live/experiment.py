"""An experiment in the real world: tickets out, rewards in, and everything in a log.

What comes in is checked, appended to the log, made durable, and only then acknowledged. Each
process keeps the state that follows from the log (Replay) in memory and reads on before it does
anything, so that any number of them can share an experiment.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .. import __version__
from ..checks import as_float, checked_whole, glimpse
from ..errors import Conflict, ExplorationOver, InvalidArgument, NotFound
from ..factors import Level, plain_level
from ..noise import NoiseLike
from ..problem import Problem
from ..values import Values
from . import losses
from .activity import Activity
from .crew import Workplace
from .events import (
    ABOUT,
    Added,
    Archived,
    Asked,
    Carried,
    Corrected,
    Created,
    Event,
    Joined,
    Retired,
    Told,
    Voided,
    as_text,
    changed_settings,
    from_text,
    keyed,
    of_ticket,
    rounded_time,
)
from .history import History, Point
from .model_check import ModelCheck, certified, check, ticket_doubts
from .replay import Addition, LogCertificate, Progress, Replay, make_explorer
from .standing import ArmsPage, Order, Status, arms_of, status_of
from .store import Note, open_store, read_linked, read_pages
from .successor import heritage, remodelled
from .texts import LONGEST_NOTES, checked_name, checked_text
from .tickets import TICKET, Ticket, TimeToLive, checked_ttl, id_of, ticket_id, tickets_of
from .turns import SharedLog, Turn
from .verification import Verification, export_line, read_export, verify

MOST = 1_000  # tickets in one ask
VERBS = (
    "ask",
    "tell",
    "void",
    "add",
    "add_arms",
    "retire",
    "correct",
    "archive",
)  # methods that record something, also over HTTP


class Experiment(SharedLog, Workplace):
    """A search for the best arm by real trials, kept in a database; `open` opens one.

    An object may be shared by threads, and an experiment by processes, each with its own object
    (one that was open before a fork works on both sides).

    >>> import tempfile
    >>> from lingape import Experiment, Factors, Problem
    >>> factors = Factors(tone=["plain", "polite"], length=["short", "long"])
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/mails.db"
    >>> experiment = Experiment.open(url, "mails", create=Problem(factors, noise="binary"))
    >>> ticket, lost = experiment.ask(2, worker="office", ttl="6h")
    >>> ticket.levels
    {'tone': 'plain', 'length': 'short'}
    >>> experiment.tell(ticket, 1)
    Progress(pulls=1, settled=False)
    >>> experiment.void(lost, reason="mail bounced")
    Progress(pulls=1, settled=False)
    >>> experiment.add(arm=3, reward=0)
    Progress(pulls=2, settled=False)
    >>> experiment.status().voided, experiment.certificate().settled
    (1, False)
    >>> experiment.close()
    """

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        *,
        create: Problem | None = None,
        explorer: str = "race",
        seed: int = 0,
        question: str | None = None,
        notes: str | None = None,
        owner: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Open an experiment, or with `create` begin it.

        url: the database, as sqlite:///PATH or postgresql://USER@HOST/DATABASE.
        name: 1 to 100 letters, digits, dots, dashes and underscores.
        create: the problem; rewards that its noise rules out are refused. If there is an
            experiment of that name already, it has to have the same settings: so a program that
            is started again continues it.
        explorer: as text, with settings if needed: "lingape(bound=self_normalized)".
        seed: for explorers that draw at random.
        question: what is to be found out, in a sentence for people; at most 200 letters. If the
            experiment is there already, what is not given here is as it was.
        notes: what else people should know; at most 20,000 letters.
        owner: whom to ask about it; at most 200 letters.
        clock: returns the seconds since 1970. For tests.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/run.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     ticket = experiment.ask()[0]
        ...     experiment.tell(ticket.id, 0.83)
        Progress(pulls=1, settled=False)
        """
        checked_name(name)
        beginning = None
        if create is not None:
            about = {"question": question, "notes": notes, "owner": owner}
            beginning = _beginning(name, create, explorer, seed, rounded_time(clock()), about)
        experiment = cls(open_store(url, create=create is not None), name, clock=clock)
        try:
            experiment._open(beginning, create)
        except BaseException:
            experiment.close()
            raise
        return experiment

    def _open(self, beginning: Created | None, problem: Problem | None) -> None:
        with self._store.view(self.name) as view:
            missing = view.head().seq == 0
        if missing and problem is None:
            known = ", ".join(self._store.experiments()) or "none"
            raise NotFound(
                f"There is no experiment {self.name!r} in {self._store.url}; there are: {known}. "
                "To begin one, pass its problem as create."
            )
        if missing and beginning is not None and problem is not None:
            text = as_text(replace(beginning, problem=problem.to_dict()))
            with self._store.transaction(self.name) as log:
                missing = log.head().seq == 0  # no other process was faster
                if missing:
                    log.append([Note(text)])
            self._store.sync()
            self._log_events([beginning] if missing else [])
        with self.current() as replay:
            created = replay.created
        if beginning is not None and problem is not None:
            first = replay.problem
            if first.began is not None or first.retired:  # as it was begun
                (begun,) = self.events(limit=1)
                first = Problem(**begun.problem)  # type: ignore[attr-defined]
            said = {name: getattr(beginning, name) or getattr(created, name) for name in ABOUT}
            wanted = replace(
                beginning,
                time=created.time,
                version=created.version,
                format=created.format,
                **said,
            )
            if wanted != created or first != problem:
                others = changed_settings(
                    replace(created, problem=first.to_dict()),
                    replace(wanted, problem=problem.to_dict()),
                )
                raise Conflict(
                    f"There is an experiment {self.name!r} in {self._store.url} already, with "
                    f"other settings: {'; '.join(others)}. Use it as it is, or begin one under "
                    "another name."
                )
        self._save_if_far(replay)

    @property
    def problem(self) -> Problem:
        """The question."""
        with self.current() as replay:
            return replay.problem

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        ttl: TimeToLive = "1d",
        key: str | None = None,
    ) -> list[Ticket]:
        """Return `n` arms to pull, each with the ticket under which to tell its reward.

        Once the question is answered, this is an ExplorationOver (409 over HTTP).
        Arms that are asked for and not told yet count when choosing, so that workers side by side
        get different arms where that helps.
        n: how many arms.
        worker: who asks, for the log.
        ttl: for how long to count on the rewards, in seconds, as a timedelta or as "90s", "30m",
            "6h", "2d"; None for no deadline. A reward told later counts just the same.
        key: a text of the caller's choice; asking again with the same key gives the same tickets.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     tickets = experiment.ask(2, key="monday")
        ...     again = experiment.ask(2, key="monday")
        >>> [ticket.arm for ticket in tickets], again == tickets
        ([0, 1], True)
        """
        n = checked_whole("n", n, least=1, most=MOST)
        worker, key = checked_text("worker", worker), checked_text("key", key)
        seconds = checked_ttl(ttl)

        def act(turn: Turn) -> list[Ticket]:
            if key is not None and (before := turn.find(keyed("ask", key), Asked)) is not None:
                if (len(before.tickets), before.worker) != (n, worker):
                    raise Conflict(
                        f"Key {key!r} was used to ask for {len(before.tickets)} tickets by "
                        f"{before.worker!r}; now it is {n} by {worker!r}. Use a key only to "
                        "repeat a request."
                    )
                return tickets_of(before, turn.replay.problem)
            if turn.replay.settled is not None:
                raise ExplorationOver(turn.replay.certificate().statement)
            arms, seq = turn.replay.ask(n, turn.now), turn.replay.head.seq + 1
            asked = Asked(
                **turn.next,
                tickets=tuple((ticket_id(seq, i), arm) for i, arm in enumerate(arms)),
                deadline=None if seconds is None else rounded_time(turn.now + seconds),
                worker=worker,
                key=key,
            )
            turn.record(asked)
            return tickets_of(asked, turn.replay.problem)

        return self._in_turn(act, None if key is None else keyed("ask", key))

    def tell(self, ticket: str | Ticket, reward: float) -> Progress:
        """Record the reward of a ticket; return how many there are, and whether that settles it.

        Telling the same again changes nothing; telling another reward is a Conflict, and so is
        telling that of a voided ticket. A ticket past its deadline may be told.
        ticket: what ask() returned, or its id.
        reward: what the trial paid.
        """
        id = id_of(ticket)

        def act(turn: Turn) -> Progress:
            value = turn.replay.problem.check_reward(reward)
            known = turn.replay.open.get(id) if isinstance(id, str) else None
            if known is None:
                before = self._closing(turn, id)
                if isinstance(before, Told) and before.reward == value:
                    return turn.replay.progress
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {id} was told {before.reward!r}; now it is {value!r}. A mistake "
                        "is for correct(), a second trial of the arm for add()."
                    )
                raise Conflict(
                    f"Ticket {id} was voided ({before.reason}), so its reward does not count. "
                    "If the trial did take place after all, record it with add()."
                )
            turn.record(Told(**turn.next, ticket=id, arm=known.arm, reward=value))
            return turn.replay.progress

        return self._in_turn(act)

    def void(self, ticket: str | Ticket, reason: str) -> Progress:
        """Record that a ticket will have no reward; voiding again changes nothing.

        That must not depend on the reward: where a trial can go wrong because of the arm, tell its
        worst value instead.
        ticket: what ask() returned, or its id.
        reason: why, such as "node lost"; it must not depend on the reward.
        """
        id, why = id_of(ticket), checked_text("reason", reason)
        if not why:
            raise InvalidArgument("void needs a reason, such as 'node lost'; got none.")

        def act(turn: Turn) -> Progress:
            if not isinstance(id, str) or id not in turn.replay.open:
                before = self._closing(turn, id)
                if isinstance(before, Told):
                    raise Conflict(
                        f"Ticket {id} was told {before.reward!r} and cannot be voided. A mistake "
                        "is for correct()."
                    )
                return turn.replay.progress
            turn.record(Voided(**turn.next, ticket=id, reason=why))
            return turn.replay.progress

        return self._in_turn(act)

    def add(self, arm: int, reward: float, *, key: str | None = None) -> Progress:
        """Record a reward that no ticket asked for: history, or a trial made unasked.

        Explorers whose pulls are fixed in advance refuse those that are not due.
        arm: the arm's number.
        reward: what the trial paid.
        key: a text of the caller's choice; adding again with the same key changes nothing.
        """
        key = checked_text("key", key)

        def act(turn: Turn) -> Progress:
            problem = turn.replay.problem
            index, value = problem.check_pull(arm), problem.check_reward(reward)
            if key is not None and (before := turn.find(keyed("add", key), Added)) is not None:
                if (before.arm, before.reward) != (index, value):
                    raise Conflict(
                        f"Key {key!r} was used to add {before.reward!r} for arm {before.arm}; now "
                        f"it is {value!r} for arm {index}. Use a key only to repeat a request."
                    )
                return turn.replay.progress
            turn.record(Added(**turn.next, arm=index, reward=value, key=key))
            return turn.replay.progress

        return self._in_turn(act, None if key is None else keyed("add", key))

    def add_arms(
        self,
        arms: Sequence[Sequence[float]] | Sequence[Mapping[str, Level]],
        *,
        names: Sequence[str] = (),
        key: str | None = None,
    ) -> Addition:
        """Add arms while the experiment runs; return their numbers.

        What they pay has to follow from what the others show: their features are sums of the
        others' features. The guarantee then speaks of them too, whatever the reason was.
        arms: for each its levels, such as {"tone": "dry", "length": "long"}; or a row of features,
            if the others have features only.
        names: what to call them; by their levels unless given.
        key: a text of the caller's choice; adding again with the same key changes nothing.

        >>> import tempfile
        >>> from lingape import Experiment, Factors, Problem
        >>> problem = Problem(Factors(dose=[1, 2, 4], numbers=["dose"]), noise="binary")
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/doses.db"
        >>> with Experiment.open(url, "doses", create=problem) as experiment:
        ...     addition = experiment.add_arms([{"dose": 3}])
        ...     [arm] = addition.arms
        ...     experiment.problem.name(arm)
        'dose=3'
        """
        key = checked_text("key", key)
        rows = tuple(_plain_arm(arm) for arm in _several("arms", arms))
        called = tuple(str(name) for name in names)

        def act(turn: Turn) -> Addition:
            if key is not None and (before := turn.find(keyed("join", key), Joined)) is not None:
                if (before.arms, before.names) != (rows, called):
                    raise Conflict(
                        f"Key {key!r} was used to add other arms. Use a key only to repeat a "
                        "request."
                    )
                return Addition(tuple(range(before.first, before.first + len(rows))))
            first = len(_open_question(turn).problem)
            turn.record(Joined(**turn.next, arms=rows, names=called, first=first, key=key))
            return Addition(tuple(range(first, first + len(rows))))

        return self._in_turn(act, None if key is None else keyed("join", key))

    def retire(self, arm: int, reason: str) -> Progress:
        """Take an arm out: it is not handed out any more, and cannot be the answer.

        Rewards of it that are under way still count. Retiring again changes nothing.
        arm: the arm's number.
        reason: why, such as "out of stock". With Race it must not depend on rewards: an arm that
            does badly needs no retiring, as it is ruled out. With LinGapE any reason will do.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1], [1, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     progress = experiment.retire(1, reason="out of stock")
        ...     1 in [ticket.arm for ticket in experiment.ask(20)]
        False
        """
        why = checked_text("reason", reason)
        if not why:
            raise InvalidArgument("retire needs a reason, such as 'out of stock'; got none.")

        def act(turn: Turn) -> Progress:
            index = turn.replay.problem.check_arm(arm)
            if index not in turn.replay.problem.retired:
                _open_question(turn).problem.with_retired(index)
                turn.record(Retired(**turn.next, arm=index, reason=why))
            return turn.replay.progress

        return self._in_turn(act)

    def correct(
        self,
        what: str | int | Ticket,
        reward: float | None,
        reason: str,
        *,
        key: str | None = None,
    ) -> Progress:
        """Take back a reward that was recorded wrongly, and put another in its place.

        Everything is then as if the right one had been told from the start; if the question was
        answered, it is judged again. The log keeps both.
        what: the ticket whose reward it is, or the number of the event that recorded it.
        reward: what the trial really paid; None if there was no such trial.
        reason: why, such as "typing error". Correct all mistakes of a kind, not those that stand
            out: the guarantee assumes that mistakes are looked for in high and low rewards alike.
        key: a text of the caller's choice; correcting again with the same key changes nothing,
            even if the reward was corrected once more since. A correction that changes nothing
            is not recorded, and uses no key.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     [ticket] = experiment.ask()
        ...     progress = experiment.tell(ticket, 30)
        ...     progress = experiment.correct(ticket, 0.3, reason="percent, not a share")
        ...     means = experiment.values().means
        >>> means.tolist()
        [0.3, 0.0]
        """
        why, key = checked_text("reason", reason), checked_text("key", key)
        if not why:
            raise InvalidArgument("correct needs a reason, such as 'typing error'; got none.")

        def act(turn: Turn) -> Progress:
            replay = turn.replay
            value = None if reward is None else replay.problem.check_reward(reward)
            event = self._recorded(turn, what)
            if key is not None:
                before = turn.find(keyed("correct", key), Corrected)
                if before is not None:
                    if (before.corrects, before.reward) != (event.seq, value):
                        raise Conflict(
                            f"Key {key!r} was used to correct event {before.corrects} to "
                            f"{before.reward!r}; now it is event {event.seq} to {value!r}. Use a "
                            "key only to repeat a request."
                        )
                    return replay.progress
            if replay.as_corrected(event.seq, event.reward) != value:
                turn.record(
                    Corrected(**turn.next, corrects=event.seq, reward=value, reason=why, key=key)
                )
            return turn.replay.progress

        return self._in_turn(act, None if key is None else keyed("correct", key))

    def archive(self, archived: bool = True) -> Progress:
        """Take the experiment off the list, or put it back; doing so again changes nothing.

        It only tidies the list: asking and telling go on as before.
        archived: whether to take it off; False puts it back.
        """
        if not isinstance(archived, bool):
            raise InvalidArgument(f"archived must be True or False; got {glimpse(archived)}.")

        def act(turn: Turn) -> Progress:
            if turn.replay.archived != archived:
                turn.record(Archived(**turn.next, archived=archived))
            return turn.replay.progress

        return self._in_turn(act)

    def status(self) -> Status:
        """Return how the experiment stands, with the bound that also decides when to stop.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     ticket, late = experiment.ask(2)
        ...     progress = experiment.tell(ticket, 0.3)
        ...     status = experiment.status()
        >>> status.pulls, status.pending, status.state
        (1, 1, 'running')
        """
        now = self._now()
        with self.current() as replay:
            return status_of(replay, now)

    def arms(
        self, search: str = "", sort: Order = "best", start: int = 0, limit: int = 50
    ) -> ArmsPage:
        """Return how arms stand, a page at a time.

        search: part of the name of the arms to return, or the number of one.
        sort: what comes first: "best" for those that may be best, "value" for the best averages,
            "pulls" and "voided" for the most of these, "name" for the alphabet.
        start: how many to leave out.
        limit: how many to return, at most 500.
        """
        with self.current() as replay:
            return arms_of(replay, self._now(), search, sort, start, limit)

    def certificate(self) -> LogCertificate:
        """Return what is proven now, with the arm's value and why it may be wrong.

        Once settled, what is proven is always the same.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=0.01)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     outcome = experiment.run(lambda ticket: [0.2, 0.8][ticket.arm], workers=1)
        ...     certificate = experiment.certificate()
        >>> certificate.arm, certificate.settled, round(certificate.value, 2)
        (1, True, 0.8)
        """
        with self.current() as replay:
            return certified(replay, check(replay, self._now()), replay.values())

    def check(self) -> ModelCheck:
        """Return whether rewards look as assumed: linear in the features, as noisy as stated.

        It also says whether some arms lose more tickets than others.
        """
        with self.current() as replay:
            return check(replay, self._now())

    def values(self) -> Values:
        """Return what rewards say about the values of arms, and of anything made of them.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     for arm, reward in [(0, 0.2), (1, 0.9), (0, 0.4), (1, 0.7)]:
        ...         progress = experiment.add(arm, reward)
        ...     values = experiment.values()
        >>> [round(interval.value, 2) for interval in values.arms()]
        [0.3, 0.8]
        """
        with self.current() as replay:
            return replay.values()

    def activity(self) -> Activity:
        """Return when rewards came, hour by hour, and what became of each worker's tickets."""
        with self.current() as replay:
            return replay.activity(self._now())

    def refit(
        self,
        name: str,
        *,
        interactions: str | Iterable[Sequence[str]] | None = None,
        per_arm: bool = False,
        noise: NoiseLike | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        norm_bound: float | None = None,
        explorer: str | None = None,
    ) -> Self:
        """Begin a successor with the same arms, another model or goal, and all rewards so far.

        For when the check doubts the model or the noise. The rewards were told in an order that
        does not depend on those that came later, so the successor's guarantee is that of an
        experiment which had its settings from the start, provided its model and noise are right.
        It does not say how often a model or noise chosen after looking is right: one feature per
        arm always is. Nor does it hold for an ε or δ that was chosen because the rewards reach it.
        Doubts about tickets stay, as a successor does not know what became of them.
        Retired arms and their rewards stay behind, so that arms may have other numbers. If arms
        were added or retired, the successor assumes that this did not depend on rewards.
        name: of the successor, in the same database.
        interactions, per_arm: as for Factors; as before unless one is given.
        noise: as for Problem; as before unless given. It has to allow all rewards so far.
        epsilon: how far from the best the answer may be; as before unless given. To be chosen
            without looking.
        delta: its error rate; as before unless given. To be chosen without looking.
        norm_bound: as for Problem; as before unless given, and none if the features change.
        explorer: who explores; as before unless given.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     progress = experiment.add(arm=1, reward=0.3)
        ...     with experiment.refit("ads-2", noise=2.0) as successor:
        ...         successor.status().pulls, successor.problem.noise
        (1, SubGaussian(scale=2.0))
        """
        now = rounded_time(self._clock())
        with self.current() as replay:
            state = copy(replay)
            doubts = ticket_doubts(replay, losses.voided(replay), losses.overdue(replay, now))
        problem = remodelled(
            state.problem,
            interactions=interactions,
            per_arm=per_arm,
            noise=noise,
            epsilon=epsilon,
            delta=delta,
            norm_bound=norm_bound,
        )
        carried = heritage(state, self.events(limit=state.head.seq), doubts, now)
        for _, reward in carried.rewards:
            problem.check_reward(reward)
        begun = state.created
        beginning = _beginning(
            checked_name(name),
            problem,
            explorer or begun.explorer,
            begun.seed,
            now,
            {name: getattr(begun, name) for name in ABOUT},
        )
        recorded: list[Event] = []
        with self._store.transaction(name) as log:
            if log.head().seq == 0:
                log.append([Note(as_text(replace(beginning, problem=problem.to_dict())))])
                (entry,) = log.read(limit=1)
                turn = Turn(log, Replay.begin(entry), now)
                turn.record(carried)
                recorded = [beginning, *turn.appended]
        self._store.sync()
        found = type(self)(open_store(self._store.url, create=False), name, clock=self._clock)
        found._log_events(recorded)
        try:
            found._open(beginning, problem)  # it may have been there already
            with found.current() as replay:
                same = replay.carried
            if same is None or (same.experiment, same.digest) != (self.name, carried.digest):
                raise Conflict(
                    f"There is an experiment {name!r} in {self._store.url} already, with other "
                    "rewards. Give the successor another name."
                )
        except BaseException:
            found.close()
            raise
        return found

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """Return the events whose number is above `after`, at most `limit`, oldest first."""
        with self._store.view(self.name) as view:
            entries = list(read_linked(view, after, limit))
        self._store.sync()
        return [from_text(entry.text, place=entry.seq) for entry in entries]

    def history(self, points: int = 300) -> list[Point]:
        """Return how B(t) fell, in at most `points` points; it replays the whole log."""
        checked_whole("points", points, least=2)
        with self.current() as replay:
            history = History(replay.corrections)
        history.follow(read_pages(self._store, self.name))
        while not history.complete:  # rewards were corrected
            history.follow(read_pages(self._store, self.name, history.event))
        return history.points(points)

    def export_lines(self) -> Iterator[str]:
        """Yield the lines of an export, reading the log page by page."""
        for page in read_pages(self._store, self.name):
            yield from map(export_line, page)

    @classmethod
    def from_export(cls, path: str | Path, url: str) -> Self:
        """Return the experiment in an export, copied event by event into another database.

        path: the file that `export` wrote.
        url: the database, as for Experiment.open.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> folder = tempfile.mkdtemp()
        >>> url, path = f"sqlite:///{folder}/ads.db", f"{folder}/ads.jsonl"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     lines = experiment.export(path)
        >>> with Experiment.from_export(path, f"sqlite:///{folder}/copy.db") as copy:
        ...     copy.name
        'ads'
        """
        entries = list(read_export(path))
        verify(entries)
        created = from_text(entries[0].text, place=1)
        assert isinstance(created, Created)
        store = open_store(url, create=True)
        try:
            with store.transaction(created.name) as log:
                if log.head().seq:
                    raise Conflict(
                        f"There is an experiment {created.name!r} in {store.url} already. "
                        "Import it into another database."
                    )
                log.append(
                    [
                        Note(entry.text, from_text(entry.text, place=entry.seq).reference)
                        for entry in entries
                    ]
                )
            store.sync()
        finally:
            store.close()
        return cls.open(url, created.name)

    def verify(self) -> Verification:
        """Replay the whole log from its first event and check everything in it.

        >>> import tempfile
        >>> from lingape import Experiment, Problem
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/ads.db"
        >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
        >>> with Experiment.open(url, "ads", create=problem) as experiment:
        ...     progress = experiment.add(arm=1, reward=0.3)
        ...     experiment.verify().events
        2
        """
        with self._store.view(self.name) as view:
            entries, head = list(view.read()), view.head()
        self._store.sync()
        return verify(entries, head=head)

    def _recorded(self, turn: Turn, what: Any) -> Told | Added:
        """Return the event that recorded a reward, by its number or its ticket."""
        if isinstance(what, int) and not isinstance(what, bool):
            found: Any = turn.event(what)
        else:
            found = self._closing(turn, id_of(what))
        if isinstance(found, Told | Added):
            return found
        if isinstance(found, Carried):
            raise InvalidArgument(
                f"Event {what} has the rewards of {found.experiment}. Correct those there, and "
                "begin another successor."
            )
        raise InvalidArgument(
            f"{what} recorded no reward, so there is none to correct. Give the ticket of a "
            "reward, or the number of the event that told or added it."
        )

    def _closing(self, turn: Turn, ticket: Any) -> Told | Voided:
        """Return the event that closed a ticket, or raise if there is no such ticket."""
        if isinstance(ticket, str) and TICKET.fullmatch(ticket):
            found = turn.find(of_ticket(ticket), Told, Voided)
            if found is not None:
                return found  # type: ignore[no-any-return]
        shown = repr(ticket)[:60]
        raise NotFound(
            f"No ticket of {self.name!r} is called {shown}. Tell by the id that ask() "
            "returned; a trial without a ticket is for add(). Nothing was recorded."
        )


def _open_question(turn: Turn) -> Replay:
    """Return the state, or raise Conflict if the question is answered."""
    if turn.replay.settled is not None:
        raise Conflict(
            "The question is answered, for the arms that there were; these cannot change any "
            "more. Begin another experiment with the arms that you want."
        )
    return turn.replay


def _several(name: str, values: Any) -> list[Any]:
    if isinstance(values, Mapping | str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must be a list, also for one; got {glimpse(values)}.")
    return list(values)


def _plain_arm(arm: Any) -> Any:
    """Return an arm as JSON has it."""
    if isinstance(arm, Mapping):
        return {str(name): plain_level(str(name), level) for name, level in arm.items()}
    return [as_float(value) for value in _several("An arm's features", arm)]


def _beginning(
    name: str,
    problem: Problem,
    explorer: str,
    seed: int,
    now: float,
    about: Mapping[str, str | None],
) -> Created:
    """Return the first event of an experiment, without its problem, which is checked here.

    As a dictionary a large problem takes much memory, so it becomes one when it is written.
    """
    if not isinstance(problem, Problem):
        raise InvalidArgument(
            f"create must be a Problem; got {type(problem).__name__}. Wrap the arms: "
            "create=Problem(arms, noise=...)."
        )
    seed = checked_whole("seed", seed)
    make_explorer(explorer, problem, seed)
    return Created(
        time=now,
        name=name,
        problem={},
        explorer=explorer,
        seed=seed,
        version=__version__,
        question=checked_text("question", about["question"]) or None,
        notes=checked_text("notes", about["notes"], most=LONGEST_NOTES) or None,
        owner=checked_text("owner", about["owner"]) or None,
    )
