"""Streams: followers of an experiment are told when it changes."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from starlette.concurrency import run_in_threadpool

from ...errors import LingapeError
from ..summary import Summary

LOOK = 0.5  # seconds between two looks at the log
HEARTBEAT = 15.0  # seconds of silence on a stream, at most


class _Topic:
    """An experiment that is followed."""

    def __init__(self) -> None:
        self.followers = 0
        self.latest: Summary | None = None
        self.over = False
        self.moved = asyncio.Event()  # a new one for each change

    def wake(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()


class Watch:
    """Looks at each experiment that is followed, once for all its followers.

    look: returns a line about an experiment.
    closing: says whether the server is shutting down, so that streams end.
    """

    def __init__(self, look: Callable[[str], Summary], closing: Callable[[], bool]) -> None:
        self._look, self._closing = look, closing
        self._topics: dict[str, _Topic] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references
        self.followers = 0

    async def follow(self, name: str) -> AsyncGenerator[Summary | None, None]:
        """Yield a line about an experiment, now and at each change; None after long silence."""
        topic = self._topics.get(name) or self._begin(name)
        topic.followers += 1
        self.followers += 1
        seen = None
        try:
            while True:
                moved = topic.moved
                if topic.latest != seen:
                    seen = topic.latest
                    yield seen
                elif topic.over:
                    return
                else:
                    try:
                        await asyncio.wait_for(moved.wait(), HEARTBEAT)
                    except TimeoutError:
                        yield None
        finally:
            topic.followers -= 1
            self.followers -= 1

    def _begin(self, name: str) -> _Topic:
        topic = self._topics[name] = _Topic()
        task = asyncio.create_task(self._watch(name, topic))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return topic

    async def _watch(self, name: str, topic: _Topic) -> None:
        try:
            while topic.followers and not self._closing():
                found = await run_in_threadpool(self._look, name)
                if found != topic.latest:
                    topic.latest = found
                    topic.wake()
                await asyncio.sleep(LOOK)
        except LingapeError:
            pass  # clients connect again, and are told then
        finally:
            del self._topics[name]
            topic.over = True
            topic.wake()
