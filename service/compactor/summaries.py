"""The second effect: a model writes the summary (rule R17), or it is said why it did not.

Theory. A question has one key, made of all that its summary depends on. In this process one task at a time works on a
key, whoever waits for it, and what it came to is remembered. Between processes that share a history, the place of the
summary in that history is held while a model is asked, and what it wrote is kept there. So the same question is paid
for once: by twins that arrive together, by a retry whose first answer was lost, by another replica after a kill. Where
the model failed, the turn that saw it fail does not ask again; the next turn does.

What does not fit the summarizer's own window is cut into slices, summarised side by side, and the partial summaries are
merged, in as many rounds as that takes. A reply is used only if nothing speaks against it (`core.acceptance`); one that
was cut off or too long is asked for once more, shorter. The time for all of it is bounded, and so is the number of
calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from compactor import telemetry
from compactor.core import acceptance, assignment, passages
from compactor.core.acceptance import Rejected
from compactor.core.assignment import Assignment, Prompt
from compactor.core.measure import Counting, heuristic
from compactor.core.passages import Passage
from compactor.core.segments import HistoryError
from compactor.memo import Memo
from compactor.model import Format, Notice, NoticeCode, SummarizerUsage
from compactor.ports import Failure, Leaf, Reply, Summarizer, SummarizerFailed, SummaryShelf
from compactor.profiles import Profile, profile_of

log = logging.getLogger("compactor")
progress = logging.getLogger("compactor.progress")
"""A line for every part of a summary that takes many calls."""

REMEMBERED_BYTES = 16 << 20
LEAST_TOKENS = 48
"""A summary is not asked for where it may have fewer tokens than this."""

THINKING_TOKENS = 8_000
"""Output that a model gets besides its summary where it cannot help thinking first."""

FIRST_MODEL_SHARE = 0.6
"""The share of the time that a model gets where another may be asked after it."""

LEAST_SECONDS = 0.5
"""Time below which no model is asked."""

_SLACK, _LEAST_SLACK = 1.5, 64
_RETRY_SHARE = 0.6
_LONGEST_REPLY, _LONGEST_SHARE = 100_000, 2
_PART_SHARE = 3
_WINDOW_SHARE = 3
_SMALL_WINDOW = 4  # one in which our own words would take a quarter


@dataclass(frozen=True, slots=True)
class Limits:
    """How many calls one summary may take, and how many may be made at once in this process."""

    max_calls: int = 32
    max_parallel: int = 4


@dataclass(frozen=True, slots=True)
class Written:
    """A model's summary, and what it cost."""

    text: str
    usage: SummarizerUsage


class NotWritten(Exception):
    """No model wrote a usable summary. `failure` is None where one answered and the answer was rejected."""

    def __init__(
        self,
        why: str,
        failure: Failure | None,
        usage: SummarizerUsage = SummarizerUsage(),  # noqa: B008 - a value
        retry_seconds: float | None = None,
    ) -> None:
        super().__init__(why)
        self.why = why
        self.failure = failure
        self.usage = usage
        self.retry_seconds = retry_seconds

    @property
    def notice(self) -> Notice:
        """What a response says of it."""
        if self.failure is None:
            return Notice(NoticeCode.SUMMARY_REJECTED, f"the model's summary was not used: {self.why}")
        return Notice(NoticeCode.SUMMARIZER_FAILED, f"no model wrote a summary: {self.why}")


@dataclass(frozen=True, slots=True)
class Task:
    """A summary to be written.

    `models` are asked in order, the next one where the one before cannot be reached. `passages` is made only when a
    model is asked. `count` counts the result as the request that it goes into is counted, `most_tokens` is what it may
    have by that, and `max_tokens` of the assignment what it should have. `timeout_seconds` is the time for all of it,
    however many calls it takes. `subject` is all of the content that the
    summary depends on, as a digest. Where `is_stored`, the history of the session is in the store, and the summary is
    kept there. `masked` makes of a model's words what may be kept and told.
    """

    models: tuple[str, ...]
    assignment: Assignment
    passages: Callable[[], list[Passage]]
    count: Callable[[str], int]
    most_tokens: int
    subject: bytes
    timeout_seconds: float = 60.0
    turn_id: str = ""
    session_id: str = ""
    is_stored: bool = False
    masked: Callable[[str], str] = str

    @property
    def key(self) -> str:
        """The name of the question that this answers, the same on every replica.

        How long the summary may be is not in it: that follows from counts, which may differ from one try to the next.
        """
        asked = self.assignment
        parts = (self.session_id, *self.models, asked.previous, asked.prompt, asked.focus)
        told = json.dumps(parts).encode() + b"\0" + self.subject
        return hashlib.sha256(told).hexdigest()


class Summaries:
    """Has summaries written by models. `summarizer` is None where no provider is configured, `shelf` where no other
    process is to find what was written.
    """

    def __init__(
        self,
        summarizer: Summarizer | None,
        shelf: SummaryShelf | None = None,
        profile_of: Callable[[str], Profile] = profile_of,
        limits: Limits = Limits(),
    ) -> None:
        self._summarizer = summarizer
        self._shelf = shelf
        self._profile_of = profile_of
        self._limits = limits
        self._permits: asyncio.Semaphore | None = None
        self._flights: dict[str, asyncio.Task[Written]] = {}
        self._known: Memo[_Known] = Memo(REMEMBERED_BYTES, _cost)

    @property
    def is_available(self) -> bool:
        """Whether there is a provider to ask."""
        return self._summarizer is not None

    async def write(self, task: Task, seconds_left: float | None) -> Written:
        """The summary of a task, written now or earlier. Raises NotWritten.

        `seconds_left` is what the caller's deadline leaves, None for none. A caller that has to go leaves the work
        going on, for its retry to find.
        """
        if self._summarizer is None:
            raise NotWritten("no provider is configured", Failure.UNAVAILABLE)
        key = task.key
        known = self._known.recall(key)
        if known is not None and known.answers(task.turn_id):
            return _fitting(known.told(), task)
        patience = _patience(task, seconds_left)
        flight = self._flights.get(key)
        if flight is None:
            if patience < LEAST_SECONDS:
                raise NotWritten("the call's deadline leaves no time", Failure.TIMEOUT)
            flight = asyncio.create_task(self._flown(task, self._summarizer))
            self._flights[key] = flight
            flight.add_done_callback(lambda done: self._landed(key, done))
        try:
            async with asyncio.timeout(max(0.0, patience) + 0.1):
                return _fitting(await asyncio.shield(flight), task)
        except TimeoutError:
            raise NotWritten("it was not written in the time that there was", Failure.TIMEOUT) from None

    async def write_anew(self, task: Task, seconds_left: float | None) -> Written:
        """The summary of a task, written now whatever was written earlier, and not remembered. Raises NotWritten."""
        if self._summarizer is None:
            raise NotWritten("no provider is configured", Failure.UNAVAILABLE)
        patience = _patience(task, seconds_left)
        if patience < LEAST_SECONDS:
            raise NotWritten("the call's deadline leaves no time", Failure.TIMEOUT)
        return (await self._worked(task, self._summarizer, time.monotonic() + patience)).told()

    def _landed(self, key: str, flight: asyncio.Task[Written]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # looked at by whoever waited; by nobody, if nobody could

    async def _flown(self, task: Task, summarizer: Summarizer) -> Written:
        """The work on a task, whoever waits for it: kept summaries are looked up first, new ones are kept."""
        deadline = time.monotonic() + task.timeout_seconds
        async with AsyncExitStack() as stack:
            leaf = await self._leaf(task, stack)
            known = _Known.read(leaf.data) if leaf and leaf.data else None
            if known is None or not known.answers(task.turn_id):
                known = await self._worked(task, summarizer, deadline)
                if leaf and (known.text or task.turn_id):
                    await _kept(leaf, known)
        self._known.keep(task.key, known)
        return known.told()

    async def _leaf(self, task: Task, stack: AsyncExitStack) -> Leaf | None:
        """The summary's place in the shared history; None where there is none."""
        if self._shelf is None or not task.is_stored:
            return None
        try:
            place = self._shelf.leaf(task.session_id, task.key, task.timeout_seconds)
            return await stack.enter_async_context(place)
        except HistoryError as error:
            log.warning("the summaries of session %s could not be looked up: %s", task.session_id, error)
            return None

    async def _worked(self, task: Task, summarizer: Summarizer, deadline: float) -> _Known:
        try:
            written = await self._by_models(task, summarizer, deadline)
        except NotWritten as error:
            return _Known("", error.usage, task.turn_id, error.why, error.failure, error.retry_seconds)
        return _Known(task.masked(written.text), written.usage, task.turn_id)

    async def _by_models(self, task: Task, summarizer: Summarizer, deadline: float) -> Written:
        """The summary by the first model that can be reached. Raises NotWritten."""
        spent = _Spent(self._limits.max_calls)
        source = await asyncio.to_thread(task.passages)
        failed: SummarizerFailed | None = None
        for at, model in enumerate(task.models):
            left = deadline - time.monotonic()
            share = 1.0 if at == len(task.models) - 1 else FIRST_MODEL_SHARE
            if failed and (left < LEAST_SECONDS or failed.failure is Failure.UNAUTHORIZED):
                break
            counting = heuristic(model, Format.ANTHROPIC_MESSAGES)
            work = _Work(
                task, model, self._profile_of(model), summarizer, self._semaphore, spent, share * left, counting
            )
            try:
                text = await work.summary(source)
            except SummarizerFailed as error:
                log.warning("model %.80r wrote no summary: %s", model, error.detail)
                failed = error
                continue
            except _NoUse as error:
                raise NotWritten(error.why, None, spent.usage) from None
            return Written(text, spent.usage)
        assert failed is not None  # noqa: S101 - there is at least one model
        raise NotWritten(failed.detail, failed.failure, spent.usage, failed.retry_seconds)

    @property
    def _semaphore(self) -> asyncio.Semaphore:
        if self._permits is None:
            self._permits = asyncio.Semaphore(self._limits.max_parallel)
        return self._permits


@dataclass(frozen=True, slots=True)
class _Known:
    """What became of a question: a summary, or why there is none, and the turn that saw it."""

    text: str
    usage: SummarizerUsage
    turn_id: str
    why: str = ""
    failure: Failure | None = None
    retry_seconds: float | None = None

    def answers(self, turn_id: str) -> bool:
        """Whether it holds for a turn: a summary for every one, a failure for the one that saw it."""
        return bool(self.text) or (bool(turn_id) and turn_id == self.turn_id)

    def told(self) -> Written:
        """The summary. Raises NotWritten where there is none."""
        if not self.text:
            raise NotWritten(self.why, self.failure, self.usage, self.retry_seconds)
        return Written(self.text, self.usage)

    def noted(self) -> bytes:
        """All of it as JSON."""
        fields = {"text": self.text, "usage": self.usage, "turn": self.turn_id, "why": self.why}
        return json.dumps({**fields, "failure": self.failure, "retry": self.retry_seconds}).encode()

    @classmethod
    def read(cls, data: bytes) -> _Known | None:
        """What was noted; None where it cannot be read."""
        try:
            value = json.loads(data)
            failure = Failure(value["failure"]) if value["failure"] else None
            usage = SummarizerUsage(str(value["usage"][0]), *map(int, value["usage"][1:]))
            return cls(str(value["text"]), usage, str(value["turn"]), str(value["why"]), failure, value["retry"])
        except (ValueError, KeyError, TypeError, IndexError):
            return None


def _patience(task: Task, seconds_left: float | None) -> float:
    """How long a caller waits: some of its time is for what comes after."""
    if seconds_left is None:
        return task.timeout_seconds
    return min(task.timeout_seconds, 0.9 * seconds_left - LEAST_SECONDS)


def _fitting(written: Written, task: Task) -> Written:
    """A summary that may have been written for somewhere else, if it fits here. Raises NotWritten."""
    if task.count(written.text) > task.most_tokens:
        raise NotWritten("it is longer than its room", None, written.usage)
    return written


async def _kept(leaf: Leaf, known: _Known) -> None:
    try:
        await leaf.keep(known.noted())
    except HistoryError as error:
        log.warning("a summary could not be kept for other replicas: %s", error)


class _NoUse(Exception):
    """The model answered, and its answer cannot be used."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Spent:
    """What one summary has cost so far, and how many calls are left. Shared by the calls that run side by side."""

    def __init__(self, max_calls: int) -> None:
        self.usage = SummarizerUsage()
        self._max_calls = max_calls

    def take(self, calls: int) -> None:
        """Makes sure that so many more calls are allowed. Raises SummarizerFailed."""
        if self.usage.call_count + calls > self._max_calls:
            why = f"it would take more than {self._max_calls} calls of the model"
            raise SummarizerFailed(why, Failure.REFUSED, calls=0)

    def add(self, usage: SummarizerUsage) -> None:
        """Counts what a call cost."""
        self.usage = self.usage.plus(usage)


@dataclass(frozen=True, slots=True)
class _Work:
    """One model at work on one task. Sizes are in the model's own tokens, by its heuristic."""

    task: Task
    model: str
    profile: Profile
    summarizer: Summarizer
    permits: asyncio.Semaphore
    spent: _Spent
    seconds: float
    counting: Counting
    started: float = field(default_factory=time.monotonic)

    async def summary(self, source: Sequence[Passage]) -> str:
        """The summary of everything. Raises SummarizerFailed or _NoUse."""
        asked = self._asked_for
        wanted = self._wanted(asked.max_tokens)
        room = self._room(wanted)
        previous = self._count(asked.previous)
        if previous > room // 2:
            source = [Passage(passages.earlier(asked.previous), may_open=True), *source]
            asked = replace(asked, previous="")
        cut = await asyncio.to_thread(passages.slices, source, room, self._count)
        if len(cut) == 1 and self._count(cut[0]) + self._count(asked.previous) <= room:
            source_length = len(cut[0]) + len(asked.previous)
            return await self._final(partial(assignment.of_transcript, asked, cut[0]), cut[0], source_length, wanted)
        ask = partial(assignment.of_transcript, replace(asked, previous=""))
        parts = await self._side_by_side("part", cut, self._wanted(min(asked.max_tokens, room // _PART_SHARE)), ask)
        return await self._merged(asked, [asked.previous, *parts] if asked.previous else parts, wanted, room)

    async def _merged(self, asked: Assignment, parts: list[str], wanted: int, room: int) -> str:
        """One summary of partial ones, in as many rounds as it takes."""
        while len(groups := _grouped(parts, room, self._count)) > 1:
            if len(groups) >= len(parts):
                raise SummarizerFailed("its window is too small to merge what it wrote", Failure.REFUSED, calls=0)
            texts = ["\n\n".join(group) for group in groups]
            few = self._wanted(min(asked.max_tokens, room // _PART_SHARE))
            parts = await self._side_by_side("merge", texts, few, partial(assignment.of_part, asked))
        # What is merged or carried on may stand in the result as it was; only a transcript must not.
        return await self._final(partial(assignment.of_parts, asked, parts), "", sum(map(len, parts)), wanted)

    async def _side_by_side(
        self, what: str, sources: Sequence[str], wanted: int, ask: Callable[..., Prompt]
    ) -> list[str]:
        """Summaries of many texts at once, in their order. A text that is short enough stands for itself."""
        long = [index for index, text in enumerate(sources) if self._count(text) > wanted]
        self.spent.take(len(long) + 1)
        done = 0

        async def one(text: str) -> str:
            nonlocal done
            echoed = text if what == "part" else ""
            found = await self._accepted(partial(ask, text), echoed, len(text), wanted, lambda _: None)
            done += 1
            progress.info("summary of session %s: %s %d of %d", self.task.session_id or "-", what, done, len(long))
            return found

        try:
            async with asyncio.TaskGroup() as group:
                made = {index: group.create_task(one(sources[index])) for index in long}
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [made[index].result() if index in made else text for index, text in enumerate(sources)]

    async def _final(self, prompt_of: _PromptOf, transcript: str, source_length: int, wanted: int) -> str:
        """The summary that goes into the request: within its room there, and shorter than what it stands for."""
        task = self.task

        def objection(text: str) -> Rejected | None:
            tokens = task.count(text)
            if tokens > task.most_tokens:
                return Rejected("it is longer than its room", wants_less=True)
            return Rejected("it is longer than its source", wants_less=True) if len(text) > source_length else None

        return await self._accepted(prompt_of, transcript, source_length, wanted, objection)

    async def _accepted(
        self,
        prompt_of: _PromptOf,
        transcript: str,
        source_length: int,
        wanted: int,
        objection: Callable[[str], Rejected | None],
    ) -> str:
        """A reply that can be used, asked for once more where asking for less may help. Raises _NoUse."""
        why = ""
        for is_retry in (False, True):
            tokens = int(wanted * _RETRY_SHARE) if is_retry else wanted
            reply = await self._asked(prompt_of(tokens, is_retry=is_retry), wanted)
            if len(reply.text) > _LONGEST_REPLY + _LONGEST_SHARE * source_length:  # not worth a look
                found: str | Rejected = Rejected("it is longer than its source", wants_less=True)
            else:
                found = acceptance.judged(reply.text, reply.stop_reason, transcript, calls_tool=reply.calls_tool)
            if isinstance(found, str):
                rejected = objection(found)
                if rejected is None:
                    return found
                found = rejected
            why = found.why
            if not found.wants_less:
                break
        raise _NoUse(why)

    async def _asked(self, prompt: Prompt, wanted: int) -> Reply:
        """One call of the model. Raises SummarizerFailed."""
        self.spent.take(1)
        async with self.permits:
            left = self.seconds - (time.monotonic() - self.started)
            if left <= 0:
                raise SummarizerFailed(f"no summary in {self.seconds:.3g} s", Failure.TIMEOUT, calls=0)
            try:
                with telemetry.summarizer_call(self.model) as told:
                    reply = await self.summarizer.write(self.model, prompt, self._output(wanted), left)
                    told(reply)
            except SummarizerFailed as error:
                self.spent.add(SummarizerUsage(self.model, error.calls))
                raise
        self.spent.add(reply.usage)
        return reply

    def _wanted(self, tokens: int) -> int:
        """What a summary should have: no more than its share of the model's window."""
        return max(LEAST_TOKENS, min(tokens, int(self._spare // _WINDOW_SHARE / _SLACK)))

    def _output(self, wanted: int) -> int:
        """The output cap of a call: some more than is asked for, so that a little too long is not cut off."""
        most = min(int(wanted * _SLACK) + _LEAST_SLACK, max(LEAST_TOKENS, self._spare // _WINDOW_SHARE))
        if self.profile.always_thinks:
            most += THINKING_TOKENS
        return min(most, self.profile.max_output_tokens or most)

    def _room(self, wanted: int) -> int:
        """The tokens that data may have in a call. Raises SummarizerFailed where the window has no room for any."""
        left = self._spare - (self._output(wanted) if self.profile.shares_window else 0)
        room = int(left / self.counting.margin)
        if room < LEAST_TOKENS:
            raise SummarizerFailed("its window is too small", Failure.REFUSED, calls=0)
        return room

    @property
    def _spare(self) -> int:
        """The model's window without the words around the data."""
        return self.profile.max_input_tokens - self._count(assignment.frame_of(self._asked_for))

    @property
    def _asked_for(self) -> Assignment:
        """What the model is asked for, in few words where its window is small."""
        asked = self.task.assignment
        is_small = self._count(assignment.frame_of(asked)) * _SMALL_WINDOW > self.profile.max_input_tokens
        return replace(asked, wording=assignment.BRIEF) if is_small else asked

    def _count(self, text: str) -> int:
        return self.counting.text(text) if text else 0


class _PromptOf(Protocol):
    """Makes the prompt for a summary of so many tokens, given whether it is asked for again."""

    def __call__(self, max_tokens: int, /, *, is_retry: bool) -> Prompt: ...


def _grouped(parts: Sequence[str], room: int, count: Callable[[str], int]) -> list[list[str]]:
    """The parts in groups that fit the room, in order."""
    groups: list[list[str]] = []
    used = 0
    for part in parts:
        size = count(part) + 12
        if groups and used + size <= room:
            groups[-1].append(part)
            used += size
        else:
            groups.append([part])
            used = size
    return groups


def _cost(known: _Known) -> int:
    return 500 + 4 * len(known.text)
