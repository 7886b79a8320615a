"""Rules R4, R5 and R7: what is counted, in which way, and at what price."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from compactor.core.families import family_of
from compactor.core.measure import (
    Counting,
    heuristic,
    message_tokens,
    request_base,
    simple,
    system_tokens,
    tool_tokens,
    value_size,
)
from compactor.core.weights import WEIGHTS, Vocabulary
from compactor.model import Content, CountSource, Format, Kind, Media, Part, Role

ANTHROPIC, OPENAI = Format.ANTHROPIC_MESSAGES, Format.OPENAI_CHAT
OLD = heuristic("claude-sonnet-4-5", ANTHROPIC)
NEW = heuristic("claude-opus-4-8", ANTHROPIC)
GPT = heuristic("gpt-4o", OPENAI)


def user(*parts: Part) -> Content:
    return Content(Role.USER, parts)


def tokens(counting: Counting, *parts: Part) -> int:
    return message_tokens(user(*parts), counting)[0]


def priced_one_by_one(text: str, vocabulary: Vocabulary) -> int:
    """The same sum, without any of the tricks."""
    weights = WEIGHTS[vocabulary]
    runs = {
        "lower": weights.starts_lower_word,
        "upper": weights.starts_upper_word,
        "digit": weights.starts_digits,
        "punctuation": weights.starts_punctuation,
        "space": weights.starts_spaces,
        "newline": weights.starts_newlines,
        "non-ascii": weights.starts_non_ascii,
        "control": 0,
    }
    leads = (
        (0xF0, weights.emoji),
        (0xEE, weights.compatibility),
        (0xEA, weights.hangul),
        (0xE4, weights.han),
        (0xE3, weights.kana),
        (0xE2, weights.symbol),
        (0xE1, weights.georgian_ethiopic),
        (0xE0, weights.indic_thai),
        (0xD4, weights.hebrew_arabic),
        (0xD0, weights.cyrillic),
        (0xCE, weights.greek),
        (0xC0, weights.latin),
        (0x80, weights.continuation),
    )
    total, before = 0, ""
    for code in text.encode("utf-8", "surrogatepass"):
        letter = chr(code)
        if code >= 0x80:
            kind, price = "non-ascii", next(price for first, price in leads if code >= first)
        elif letter in "\r\n\t":
            kind, price = "newline", weights.tab if letter == "\t" else weights.newline
        elif letter == " ":
            kind, price = "space", weights.space
        elif "a" <= letter <= "z":
            kind, price = "lower", weights.lower
        elif "A" <= letter <= "Z":
            kind, price = "upper", weights.upper
        elif "0" <= letter <= "9":
            kind, price = "digit", weights.digit
        elif "!" <= letter <= "~":
            kind, price = "punctuation", weights.punctuation
        else:
            kind, price = "control", weights.control
        total += price
        if (before, kind) == ("lower", "upper"):
            total += weights.starts_camel_hump
        elif before != kind and (before, kind) != ("upper", "lower"):
            total += runs[kind]
        before = kind
    return -(-total // 100)


UNITS = (
    "aA",
    "1.",
    "A1",
    "1 ",
    "1\n",
    ".A",
    "A\n",
    "é",
    "é1",
    "я",
    "漢字",
    "\ud83d",
    "😀",
    "\x00",
    "\x001",
    "aB3. é\t",
)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "claude-3-haiku", "claude-opus-4-8"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_sum_wraps_around_or_loses_a_run_at_a_seam(model: str, unit: str) -> None:
    family = family_of(model, ANTHROPIC)
    count = heuristic(model, ANTHROPIC).text
    for times in (0, 1, 255, 256, 257, 512, 513, 1_025):
        text = unit * times
        assert count(text) == priced_one_by_one(text, family.vocabulary)


def test_a_word_begins_anew_where_a_window_of_a_long_text_does() -> None:
    for text in ("a" * 70_000, "aB" * 35_000, "1." * 35_000, "word " * 14_000, "é" * 35_000):
        assert NEW.text(text) == priced_one_by_one(text, Vocabulary.CLAUDE_48)


def test_text_of_one_cheap_letter_is_free() -> None:
    for counting in (OLD, NEW, GPT):
        assert counting.text("") == 0
        assert counting.text(" ") == 1


@pytest.mark.parametrize(
    ("model", "arm", "vocabulary"),
    [
        ("gpt-4o", OPENAI, Vocabulary.O200K),
        ("chatgpt-4o-latest", OPENAI, Vocabulary.O200K),
        ("ft:gpt-4o-mini-2024-07-18:acme::1", OPENAI, Vocabulary.O200K),
        ("gpt-4.1", OPENAI, Vocabulary.O200K),
        ("gpt-5", OPENAI, Vocabulary.O200K),
        ("openai/gpt-5.3-codex", OPENAI, Vocabulary.O200K),
        ("gpt-6.1-sol", OPENAI, Vocabulary.O200K),
        ("o3", OPENAI, Vocabulary.O200K),
        ("gpt-4", OPENAI, Vocabulary.CL100K),
        ("gpt-4-0613", OPENAI, Vocabulary.CL100K),
        ("gpt-4-turbo", OPENAI, Vocabulary.CL100K),
        ("gpt-3.5-turbo", OPENAI, Vocabulary.CL100K),
        ("azure/gpt-35-turbo", OPENAI, Vocabulary.CL100K),
        ("gemini/gemini-3.6-flash", OPENAI, Vocabulary.O200K),
        ("xai/grok-4.7", OPENAI, Vocabulary.O200K),
        ("claude-3-5-sonnet-20241022", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("claude-sonnet-4-20250514", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("claude-opus-4-1-20250805", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("claude-sonnet-4-5@20250929", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("anthropic/claude-4.5-sonnet", OPENAI, Vocabulary.CLAUDE_3),
        ("claude-opus-4-6", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("claude-haiku-4-9", ANTHROPIC, Vocabulary.CLAUDE_3),
        ("claude-opus-4-7", ANTHROPIC, Vocabulary.CLAUDE_48),
        ("claude-opus-4-8", ANTHROPIC, Vocabulary.CLAUDE_48),
        ("claude-haiku-5-5", ANTHROPIC, Vocabulary.CLAUDE_48),
        ("claude-fable-5-1", ANTHROPIC, Vocabulary.CLAUDE_48),
        ("claude-latest", ANTHROPIC, Vocabulary.CLAUDE_48),
        ("something-else", OPENAI, Vocabulary.CLAUDE_48),
        ("marco-o1", OPENAI, Vocabulary.CLAUDE_48),
        ("openai/o3-mini", OPENAI, Vocabulary.O200K),
        ("", ANTHROPIC, Vocabulary.CLAUDE_48),
    ],
)
def test_a_model_is_counted_in_the_vocabulary_of_another(model: str, arm: Format, vocabulary: Vocabulary) -> None:
    assert family_of(model, arm).vocabulary is vocabulary


def test_gemini_is_counted_as_cheaply_as_the_tokenizer_it_is_derived_from() -> None:
    text = "def count(text): return 4\n" * 100
    assert heuristic("gemini-2.5-pro", OPENAI).text(text) == pytest.approx(1.1 * GPT.text(text), abs=1)


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("claude-3-opus-20240229", 346),
        ("claude-sonnet-4-20250514", 313),
        ("claude-opus-4-1", 313),
        ("claude-haiku-4-5", 496),
        ("claude-opus-4-6", 497),
        ("claude-opus-4-7", 675),
        ("claude-opus-4-8", 290),
        ("claude-opus-5", 286),
        ("claude-sonnet-5", 354),
        ("claude-fable-5", 700),
        ("something-else", 700),
    ],
)
def test_the_hidden_prompt_of_tools_is_left_out(model: str, prompt: int) -> None:
    counting = heuristic(model, ANTHROPIC)
    assert request_base(counting, 1) - request_base(counting, 0) == prompt
    assert request_base(counting, 9) == request_base(counting, 1)


def test_an_unknown_model_of_an_openai_body_pays_the_fixed_costs_of_claude() -> None:
    unknown = heuristic("something-else", OPENAI)
    assert unknown.costs == GPT.costs
    assert unknown.text("A constant NAME") == NEW.text("A constant NAME")


def test_two_ways_of_counting_share_a_cache_key() -> None:
    models = ["gpt-4o", "gpt-4o-mini", "gpt-4", "gpt-5", "gpt-5.2", "gpt-5.4", "gemini-2.5-pro", "gemini-3.6-flash"]
    models += [
        "claude-3-opus",
        "claude-sonnet-4-5",
        "claude-opus-4-7",
        "claude-opus-4-8",
        "claude-opus-5",
        "grok-4.7",
        "x",
    ]
    countings = [heuristic(model, arm) for model in models for arm in Format]
    countings += [simple(n, model, OPENAI) for n in (3.5, 4.0) for model in ("gpt-4o", "gpt-5")]
    by_name: dict[str, tuple[object, ...]] = {}
    for counting in countings:
        sample = (counting.text("One camelCase word, 漢字 and 1234\n"), counting.costs, counting.media)
        assert by_name.setdefault(counting.name, sample) == sample


def test_the_name_of_a_way_of_counting_differs_between_models_that_count_alike() -> None:
    assert heuristic("claude-sonnet-4-5-20250929", ANTHROPIC).name == heuristic("claude-haiku-4-5", OPENAI).name


def test_a_message_of_one_block_costs_other_than_four_besides_its_text() -> None:
    for counting in (OLD, NEW, GPT):
        assert tokens(counting, Part(Kind.TEXT, "hello")) == 4 + counting.text("hello")


def test_the_name_or_the_arguments_of_a_call_are_free() -> None:
    bare = tokens(OLD, Part(Kind.TOOL_USE))
    named = tokens(OLD, Part(Kind.TOOL_USE, name="read_file"))
    whole = tokens(OLD, Part(Kind.TOOL_USE, '{"path":"src/main.py"}', name="read_file"))
    assert OLD.costs.tool_use < bare < named < whole


def test_an_image_inside_a_tool_result_is_free() -> None:
    image = Part(Kind.MEDIA, media=Media("image", "image/png", reference="https://example.org/a.png"))
    without = message_tokens(user(Part(Kind.TOOL_RESULT, "seen", id="1")), OLD)
    within = message_tokens(user(Part(Kind.TOOL_RESULT, "seen", id="1", parts=(Part(Kind.TEXT, "seen"), image))), OLD)
    assert without[1] == 0
    assert within[1] == 1_568
    assert 1_568 < within[0] - without[0] < 1_600


def test_the_text_of_a_result_is_counted_twice_because_its_blocks_are_there() -> None:
    text = "a line of output\n" * 500
    whole = tokens(OLD, Part(Kind.TOOL_RESULT, text, id="1"))
    split = tokens(OLD, Part(Kind.TOOL_RESULT, text, id="1", parts=(Part(Kind.TEXT, text),)))
    assert whole < split <= whole + 2


def test_a_plain_text_document_is_priced_as_a_page_of_a_pdf() -> None:
    text = "Minutes of the meeting. " * 400
    document = Part(Kind.MEDIA, media=Media("document", "text/plain", text))
    total, media = message_tokens(user(document), OLD)
    assert media == 0
    assert total == 4 + OLD.text(text)


def test_encrypted_reasoning_is_free() -> None:
    seen = [tokens(OLD, Part(Kind.THINKING, weight=weight)) for weight in (0, 1, 1_000, 100_000)]
    assert seen == sorted(set(seen))
    assert seen[3] - seen[0] == 18_000


def test_visible_reasoning_is_charged_once_more_for_its_signature() -> None:
    text = "Let me look at how the parser treats an escape at the end of its buffer. " * 20
    signature = len(text) * 4 // 3 + 260  # as Claude 4.5 signs it
    plain, signed = tokens(OLD, Part(Kind.THINKING, text)), tokens(OLD, Part(Kind.THINKING, text, weight=signature))
    assert plain <= signed < 1.25 * plain


def test_an_opaque_block_is_free() -> None:
    assert tokens(OLD, Part(Kind.OPAQUE, "title", name="search_result", weight=4_000)) > 700


def test_a_lone_surrogate_raises() -> None:
    assert tokens(OLD, Part(Kind.TEXT, "\ud83d and \udc00")) > 4
    assert value_size("\ud83d") == 3


def test_a_special_token_in_a_text_is_more_than_text() -> None:
    assert tokens(GPT, Part(Kind.TEXT, "<|endoftext|>")) - tokens(GPT, Part(Kind.TEXT, "<-endoftext->")) == 0


def test_a_long_run_costs_more_or_less_than_its_share() -> None:
    for unit in ("a", " ", "\n", "=", "7", "漢", "😀", "QUJD"):
        short, long = NEW.text(unit * 10_000), NEW.text(unit * 100_000)
        assert long == pytest.approx(10 * short, rel=0.01)


@pytest.mark.parametrize(
    ("sample", "bytes_per_token"),
    [
        ("iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAYAAADimHc4AAAACXBIWXMAAAsTAAALEwEAmpwYAAA" * 50, 1.05),
        ("The quick brown fox jumps over the lazy dog while nobody is looking at it. " * 50, 3.04),
        ("    def value_of(self, name: str) -> int:\n        return self._values[name]\n" * 50, 2.78),
        ("自然語言處理是人工智慧和語言學領域的分支學科。" * 50, 2.53),
    ],
)
def test_a_kind_of_text_is_far_from_what_it_measured(sample: str, bytes_per_token: float) -> None:
    assert NEW.text(sample) == pytest.approx(len(sample.encode()) / bytes_per_token, rel=0.25)


def test_adding_a_tool_or_a_system_block_is_free() -> None:
    assert tool_tokens("{}", GPT) > GPT.costs.tool > 0
    for counting in (OLD, GPT):
        empty = Content(Role.SYSTEM, (Part(Kind.TEXT),))
        whole = Content(Role.SYSTEM, (Part(Kind.TEXT, "You are terse."),))
        assert 0 < system_tokens(empty, counting) < system_tokens(whole, counting)


def test_the_simple_counter_has_costs_of_its_own() -> None:
    counting = simple(4.0, "claude-sonnet-4-5", ANTHROPIC)
    assert astuple(counting.costs) == (0,) * len(astuple(counting.costs))
    assert (counting.margin, counting.source) == (1.0, CountSource.HEURISTIC)
    assert request_base(counting, 3) == 0
    assert tool_tokens("x" * 41, counting) == 11
    assert tokens(counting, Part(Kind.TEXT, "x" * 10), Part(Kind.TEXT, "漢" * 10)) == 5
    assert tokens(counting, Part(Kind.TOOL_USE, "{}", name="ab")) == 1
    assert system_tokens(Content(Role.SYSTEM, (Part(Kind.TEXT, "x" * 8),)), counting) == 2


def test_the_simple_counter_counts_an_image_by_its_base64() -> None:
    counting = simple(4.0, "claude-sonnet-4-5", ANTHROPIC)
    image = Part(Kind.MEDIA, media=Media("image", "image/png", "A" * 40_000))
    assert message_tokens(user(image), counting) == (1_568, 1_568)


def test_the_margin_of_the_heuristic_says_exact() -> None:
    assert OLD.margin == 1.10
    assert OLD.source is CountSource.HEURISTIC


def test_a_value_is_sized_in_characters() -> None:
    assert value_size("abc") == 3
    assert value_size("漢字😀") == 10
