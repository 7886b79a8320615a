"""Rules R5 and R7: OpenAI's own tokenizer, offline and guarded."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
import tiktoken

from compactor.core.measure import Counting, heuristic, message_tokens
from compactor.model import Content, CountSource, Format, Kind, Part, Role
from compactor.providers import tokenizer
from compactor.providers.tokenizer import tokenizer_counting


@pytest.fixture(scope="module")
def o200k() -> Counting:
    counting = tokenizer_counting("gpt-4o", Format.OPENAI_CHAT)
    assert counting is not None
    return counting


@pytest.fixture(scope="module")
def cl100k() -> Counting:
    counting = tokenizer_counting("gpt-4-0613", Format.OPENAI_CHAT)
    assert counting is not None
    return counting


@pytest.mark.parametrize(
    ("text", "expected_o200k", "expected_cl100k"),
    [  # as tiktoken counts with the files that it downloads
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 8, 9),
    ],
)
def test_a_count_is_off(
    o200k: Counting, cl100k: Counting, text: str, expected_o200k: int, expected_cl100k: int
) -> None:
    assert (o200k.text(text), cl100k.text(text)) == (expected_o200k, expected_cl100k)


def test_the_way_of_counting_is_not_named(o200k: Counting) -> None:
    estimated = heuristic("gpt-4o", Format.OPENAI_CHAT)
    assert (o200k.source, o200k.margin) == (CountSource.TOKENIZER, 1.0)
    assert o200k.name != estimated.name
    assert (o200k.costs, o200k.media) == (estimated.costs, estimated.media)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-3.6-flash", "grok-4.7", "something-else", ""])
def test_a_model_without_a_public_tokenizer_is_counted_by_another_ones(model: str) -> None:
    for arm in Format:
        assert tokenizer_counting(model, arm) is None


def test_loading_reaches_for_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was reached for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    for name in ("o200k_base", "cl100k_base"):
        assert isinstance(tokenizer._load(name), tiktoken.Encoding)


def test_an_encoding_that_is_not_shipped_raises() -> None:
    assert tokenizer._load("p50k_base") is None


def test_a_constructor_downloads_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def later_release() -> dict[str, object]:
        return fetch_ranks("https://example.org/o200k_base.tiktoken")  # type: ignore[name-defined,no-any-return] # noqa: F821

    monkeypatch.setitem(tokenizer.openai_public.ENCODING_CONSTRUCTORS, "o200k_base", later_release)
    assert tokenizer._load("o200k_base") is None


def test_ranks_that_are_not_openais_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_SHA256", {"o200k_base": "0" * 64})
    assert tokenizer._load("o200k_base") is None


def test_an_encoding_is_loaded_once_for_each_thread() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: tokenizer._encoding("o200k_base"), range(8)))
    assert len({id(encoding) for encoding in found}) == 1


def test_a_special_token_in_a_text_raises_or_counts_as_one(o200k: Counting, cl100k: Counting) -> None:
    for counting in (o200k, cl100k):
        assert counting.text("a <|endoftext|> b") > 5


def test_a_lone_surrogate_raises(o200k: Counting) -> None:
    assert o200k.text("a \ud83d b") > 2


@pytest.mark.parametrize("letter", [" ", "\t", "\n", "\u00a0"])
def test_a_run_of_whitespace_panics(o200k: Counting, cl100k: Counting, letter: str) -> None:
    for counting in (o200k, cl100k):
        assert counting.text(letter * 1_200_000 + "end") > 1_000


def test_many_runs_of_whitespace_are_scanned_again_and_again() -> None:
    pieces = tokenizer._pieces((" " * 99_999 + "x") * 20 + " " * 250_000)
    assert "".join(pieces) == (" " * 99_999 + "x") * 20 + " " * 250_000
    assert [len(piece) for piece in pieces] == [2_100_000, 100_000, 50_000]


def test_a_very_long_text_is_tokenized_to_its_end(o200k: Counting) -> None:
    whole = "word " * 1_000_000
    head, rest = whole[:2_000_000], whole[2_000_000:]
    assert o200k.text(whole) == o200k.text(head) + heuristic("gpt-4o", Format.OPENAI_CHAT).text(rest)


def test_a_panic_of_the_tokenizer_ends_the_call() -> None:
    class Panic(BaseException):
        pass

    class Broken:
        def encode(self, text: str, **_: object) -> list[int]:
            raise Panic(text)

    count = tokenizer._counter(Broken(), len)  # type: ignore[arg-type]
    assert count("four") == 4


def test_being_told_to_stop_is_taken_for_a_panic() -> None:
    class Stopped:
        def encode(self, text: str, **_: object) -> list[int]:
            raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt):
        tokenizer._counter(Stopped(), len)("four")  # type: ignore[arg-type]


def test_two_blocks_merge_into_fewer_tokens_than_one(o200k: Counting) -> None:
    lines = [Part(Kind.TEXT, "\n" * length) for length in range(1, 40)]
    seen = [message_tokens(Content(Role.USER, tuple(lines[:count])), o200k)[0] for count in range(40)]
    assert seen == sorted(set(seen))
