"""The actors of a pool: starting, asking, replacing and ending them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from homing.ray._shard import Piece, Reading, Shard

_LARGE = 1 << 16
"""Messages above this size are stored once, and every node fetches them from its neighbours."""

T = TypeVar("T")


class ShardLost(RuntimeError):
    """A shard was lost more often than it may be started again."""


class Actors:
    """The actors that hold a pool. One that dies is started again and reads its rows again."""

    def __init__(
        self, shards: list[list[Piece]], reading: Reading, options: dict[str, Any], restarts: int, threads: int | None
    ) -> None:
        self.shards, self.reading, self.options = shards, reading, options
        self.restarts, self.threads = restarts, threads
        self.lost = [0] * len(shards)
        self.firsts = []
        start = 0
        for shard in shards:
            self.firsts.append(start)
            start += sum(piece.stop - piece.start for piece in shard)
        self.actors = [self._started(number) if shard else None for number, shard in enumerate(shards)]
        self.is_closed = False
        self.questions = self.bytes_sent = self.bytes_received = 0
        self._main: _Relay | None = None

    def _started(self, number: int) -> Any:
        # Ray starts an actor of a lost node again by itself, and repeats the question that it was answering.
        remote = ray.remote(max_restarts=self.restarts, max_task_retries=-1, **self.options)(Shard)
        return remote.remote(self.shards[number], self.firsts[number], self.reading, self.threads)

    def call(self, numbers: list[int], method: str, *arguments: Any) -> list[Any]:
        """Calls a method of some actors at once, and returns what they return."""
        if self.is_closed:
            raise ValueError("the pool is closed; make another Pool")
        waiting = {number: getattr(self.actors[number], method).remote(*arguments) for number in numbers}
        answers: dict[int, Any] = {}
        while waiting:
            ready, _ = ray.wait(list(waiting.values()), num_returns=len(waiting), timeout=5.0)
            for number in [number for number, call in waiting.items() if call in ready]:
                try:
                    answers[number] = ray.get(waiting.pop(number))
                except (RayActorError, GetTimeoutError) as error:
                    self._replace(number, error)
                    waiting[number] = getattr(self.actors[number], method).remote(*arguments)
                except RayTaskError as error:
                    raise RuntimeError(f"shard {number} failed: {error.cause}") from None
        return [answers[number] for number in numbers]

    def _replace(self, number: int, error: Exception) -> None:
        self.lost[number] += 1
        if self.lost[number] > self.restarts:
            why = str(error).strip().splitlines()[0]
            raise ShardLost(
                f"shard {number} was lost {self.lost[number]} times ({why}); look into Ray's log, or give its actors more memory"
            ) from None
        self.actors[number] = self._started(number)

    def ask(self, numbers: list[int], message: bytes) -> list[bytes]:
        """Sends a message to some shards, on the thread that waits for the selection."""
        relay = self._main
        return self._ask(numbers, message) if relay is None else relay.do(lambda: self._ask(numbers, message))

    def _ask(self, numbers: list[int], message: bytes) -> list[bytes]:
        sent: Any = ray.put(message) if len(message) > _LARGE and len(numbers) > 1 else message
        answers = self.call(numbers, "answer", sent)
        for answer in answers:
            if isinstance(answer, str):
                raise ValueError(answer)
        self.questions += 1
        self.bytes_sent += len(message) * len(numbers)
        self.bytes_received += sum(map(len, answers))
        return answers

    def during(self, work: Callable[[Callable[[Callable[[], Any]], Any]], T]) -> T:
        """Does work on another thread, whose questions are asked on this one, so that Ctrl-C ends both.

        `work` gets a function that calls another on this thread.
        """
        relay = self._main = _Relay()
        try:
            return relay.serve(lambda: work(relay.do))
        finally:
            self._main = None

    def close(self) -> None:
        """Ends all actors."""
        for actor in self.actors:
            if actor is not None and not self.is_closed and ray.is_initialized():
                ray.kill(actor, no_restart=True)
        self.is_closed = True


class _Relay:
    """Calls that a working thread hands to the thread that waits for it."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]] | None] = queue.SimpleQueue()
        self.failure: BaseException | None = None

    def do(self, call: Callable[[], Any]) -> Any:
        """Calls a function on the waiting thread."""
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.calls.put((call, answer))
        is_done, result = answer.get()
        if not is_done:
            raise result
        return result

    def serve(self, work: Callable[[], T]) -> T:
        """Does `work` on another thread and its calls on this one. The first failure of a call ends it."""
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append((True, work()))
            except BaseException as error:
                outcome.append((False, error))
            finally:
                self.calls.put(None)

        thread = threading.Thread(target=run, name="homing.ray", daemon=True)
        thread.start()
        while True:
            try:
                item = self.calls.get()
            except BaseException as error:
                self.failure = self.failure or error
                continue
            if item is None:
                break
            call, answer = item
            if self.failure is not None:
                answer.put((False, RuntimeError("the selection was ended")))
                continue
            try:
                answer.put((True, call()))
            except BaseException as error:
                self.failure = error
                answer.put((False, error))
        thread.join()
        is_done, result = outcome[0]
        if self.failure is not None:
            raise self.failure
        if not is_done:
            raise result
        return result  # type: ignore[no-any-return]
