"""What code keeps of the messages that are left out (rule R18): found message by message, combined in one pass.

`harvest` is a pure function of one message, so that its result can be kept by the message's hash and each message is
read once in the life of a session; `retain` combines what was harvested, oldest first, and reads no text. What is kept
comes from the raw log each time: it does not drift, however many compactions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.retained import arguments as args
from compactor.core.retained import (
    files,
    identifiers,
    instructions,
    matters,
    outcomes,
    plan,
    questions,
    requests,
    wording,
)
from compactor.core.retained.identifiers import Sighting
from compactor.core.retained.matters import Standing, Statement
from compactor.core.retained.outcomes import Answer, Gone, Use
from compactor.core.retained.plan import Step
from compactor.model import Content, Kind, Part, Retained, Role

__all__ = ["Harvest", "earlier_summary", "harvest", "last_words", "retain"]

LONGEST_WORDS = 1_600
_SILENT_TOOLS = ("think", "tasklist", "todoread")
_ASKING_TOOLS = ("question", "clarif", "ask_user", "askuser")


class Harvest(NamedTuple):
    """What the extractors find in one message.

    `statements` are the user's instructions, facts and remarks; `request` is what a person asks in it,
    `looks_like_output` that it may be a tool's output all the same. `questions` are those asked in it; `concludes` says
    that the assistant speaks and calls no tool, which answers the user. `earlier` is the text of a provider's own
    compaction block: a summary of what the log itself no longer holds.
    """

    statements: tuple[Statement, ...] = ()
    request: str = ""
    looks_like_output: bool = False
    identifiers: tuple[Sighting, ...] = ()
    uses: tuple[Use, ...] = ()
    answers: tuple[Answer, ...] = ()
    steps: tuple[Step, ...] = ()
    questions: tuple[str, ...] = ()
    words: str = ""
    concludes: bool = False
    earlier: str = ""

    @property
    def instructions(self) -> tuple[str, ...]:
        """Those of the statements that bind."""
        return tuple(told.text for told in self.statements if told.standing is Standing.INSTRUCTION)


NOTHING = Harvest()


def harvest(content: Content) -> Harvest:
    """Everything that the extractors find in one message."""
    match content.role:
        case Role.USER | Role.TOOL:
            return _from_user(content.parts)
        case Role.ASSISTANT:
            return _from_assistant(content.parts)
        case _:
            return NOTHING


def retain(harvests: Sequence[Harvest], later: Sequence[Harvest] = ()) -> Retained:
    """The state to keep of messages, given what each of them holds, oldest first.

    `later` are the messages that follow and are not to be left out: nothing of them is in the state, but what they take
    back is not either.
    """
    known = (*harvests, *later)
    told = _told(known)
    settled = matters.settle(told)
    struck: dict[int, list[str]] = {}
    kept: dict[Standing, dict[str, None]] = {Standing.INSTRUCTION: {}, Standing.FACT: {}, Standing.REMARK: {}}
    gone: list[Gone] = []
    for (place, statement), fate in zip(told, settled, strict=True):
        if place >= len(harvests):
            break
        if fate.by is None:
            kept[fate.standing][statement.text] = None
        else:
            struck.setdefault(place, []).append(statement.text)
            gone.append(Gone(place, statement.text, told[fate.by][0]))

    asked: list[str] = []
    steps: list[Step] = []
    from_user: tuple[str, ...] = ()
    from_assistant: tuple[str, ...] = ()
    for place, found in enumerate(harvests):
        if found.request and not (found.looks_like_output and asked):
            asked.append(requests.without(found.request, struck.get(place, ())))
            from_user, from_assistant = found.questions, ()
        elif found.words:
            from_assistant = found.questions
            if found.concludes:
                from_user = ()
        if found.steps:
            steps += found.steps
    answered_anew = outcomes.replaced(harvests, later)
    asked_anew = outcomes.answered(later)
    done, worked, waiting = outcomes.merge(
        (found.uses, found.answers) for found in harvests if found.uses or found.answers
    )
    ledger = files.merge(worked)
    return Retained(
        instructions=tuple(kept[Standing.INSTRUCTION]),
        facts=tuple(kept[Standing.FACT]),
        requests=requests.merge(asked),
        identifiers=identifiers.merge(
            (found.identifiers for found in harvests if found.identifiers),
            _stale(known, [*gone, *answered_anew]),
        ),
        files=ledger,
        tool_outcomes=tuple(outcome for outcome in done if outcome[:2] not in asked_anew),
        plan=plan.merge(steps),
        open_questions=tuple(dict.fromkeys((*from_user, *from_assistant, *waiting[-1:]))),
    )


def _told(harvests: Sequence[Harvest]) -> list[tuple[int, Statement]]:
    """The statements of all messages but those of agents that get the results of tools as messages of the user."""
    told: list[tuple[int, Statement]] = []
    has_asked = False
    for place, found in enumerate(harvests):
        if found.request and not (found.looks_like_output and has_asked):
            has_asked = True
            told += [(place, statement) for statement in found.statements]
    return told


def _stale(harvests: Sequence[Harvest], gone: Sequence[Gone]) -> frozenset[str]:
    """The identifiers of what was taken back, those that nobody used after that."""
    until: dict[str, int] = {}
    for place, text, by in gone:
        for seen in harvests[place].identifiers:
            if seen.text in text:
                until[seen.text] = max(by, until.get(seen.text, 0))
    if until:
        for place in range(min(until.values()) + 1, len(harvests)):
            for seen in harvests[place].identifiers:
                if until.get(seen.text, place) < place:
                    del until[seen.text]
    return frozenset(until)


def last_words(harvests: Sequence[Harvest]) -> str:
    """What the assistant said last, shortened; empty where it said nothing."""
    return next((found.words for found in reversed(harvests) if found.words), "")


def earlier_summary(harvests: Sequence[Harvest]) -> str:
    """What a provider's own compaction block says of still earlier messages; empty where there is none."""
    return next((found.earlier for found in reversed(harvests) if found.earlier), "")


def _from_user(parts: tuple[Part, ...]) -> Harvest:
    found: dict[str, int] = {}
    answers: list[Answer] = []
    texts: list[str] = []
    for part in parts:
        if part.kind is Kind.TEXT:
            texts.append(part.text)
        elif part.kind is Kind.TOOL_RESULT or part.kind is Kind.SERVER_TOOL_RESULT:
            answers.append(_answer(part, found))
    said = wording.spoken("\n".join(texts) if len(texts) > 1 else texts[0]) if texts else ""
    if not said:
        return Harvest(answers=tuple(answers), identifiers=identifiers.sightings(found)) if answers else NOTHING
    looks_like_output = requests.is_output(said)
    weight = identifiers.IN_RESULT if looks_like_output or len(said) > identifiers.WINDOW else identifiers.IN_REQUEST
    identifiers.scan(said, found, weight)
    if not looks_like_output:
        identifiers.scan_named(said, found, weight)
    return Harvest(
        instructions.statements(said),
        requests.find(said),
        looks_like_output,
        identifiers.sightings(found) if found else (),
        answers=tuple(answers),
        questions=questions.find(said),
    )


def _from_assistant(parts: tuple[Part, ...]) -> Harvest:
    found: dict[str, int] = {}
    uses: list[Use] = []
    answers: list[Answer] = []
    steps: list[Step] = []
    texts: list[str] = []
    earlier = ""
    for part in parts:
        match part.kind:
            case Kind.TEXT:
                texts.append(part.text)
            case Kind.OPAQUE if part.name == "compaction":
                earlier = part.text
            case Kind.TOOL_USE | Kind.SERVER_TOOL_USE:
                given = args.read(part.text)
                step = plan.from_call(part.name, given)
                if step:
                    steps.append(step)
                uses.append(_use(part, given, found, silent=step is not None))
            case Kind.TOOL_RESULT | Kind.SERVER_TOOL_RESULT:
                answers.append(_answer(part, found))
            case _:
                pass
    said = ("\n".join(texts) if len(texts) > 1 else texts[0]).strip() if texts else ""
    if said:
        identifiers.scan(said, found, identifiers.IN_WORDS)
        identifiers.scan_named(said, found, identifiers.IN_WORDS)
        step = plan.from_text(said)
        if step:
            steps.append(step)
    return Harvest(
        identifiers=identifiers.sightings(found),
        uses=tuple(uses),
        answers=tuple(answers),
        steps=tuple(steps),
        questions=questions.find(said),
        words=wording.shorten(said, LONGEST_WORDS),
        concludes=bool(said) and not uses,
        earlier=earlier,
    )


def _use(part: Part, given: dict[str, object], found: dict[str, int], *, silent: bool) -> Use:
    if given:
        for name, value in args.leaves(given):
            identifiers.scan_argument(name, value, found, identifiers.IN_ARGUMENTS)
    elif part.text:
        identifiers.scan(part.text, found, identifiers.IN_ARGUMENTS)
    name = part.name.lower()
    return Use(
        part.id,
        part.name,
        outcomes.request(given, part.text),
        files.touched(part.name, given, part.text),
        _question(given) if any(word in name for word in _ASKING_TOOLS) else "",
        silent or name in _SILENT_TOOLS,
    )


def _question(given: dict[str, object]) -> str:
    asked = (value for name, value in args.leaves(given) if name in ("question", "text", "prompt"))
    return wording.one_line(next(asked, ""), questions.LONGEST_QUESTION)


def _answer(part: Part, found: dict[str, int]) -> Answer:
    text = wording.without_reminder(part.text)
    outcome, failed = outcomes.answer(text, is_error=part.is_error)
    weight = identifiers.IN_FAILURE if failed else identifiers.IN_RESULT
    identifiers.scan(text, found, weight)
    return Answer(part.id, outcome, failed, part.name)
