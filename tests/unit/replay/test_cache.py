"""The simulated prompt cache: what is read, written and neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.replay.cache import AUTOMATIC_STEP, LOOKED_BACK, AutomaticCache, Cache, Element, MarkedCache, Use

LEAST = 1_000


def row(text: str, *, tokens: int = 1_000, marked: Sequence[int] = (-1,), life: str = "5m") -> list[Element]:
    """One element a letter, some of them marked."""
    places = {place % len(text) for place in marked}
    return [Element(letter, tokens, 1, life if at in places else "") for at, letter in enumerate(text)]


def test_the_first_request_reads_nothing() -> None:
    assert MarkedCache(LEAST).send(row("abc"), 0) == Use(written=3_000)


def test_an_identical_prefix_is_read_and_what_was_appended_is_written() -> None:
    cache = MarkedCache(LEAST)
    cache.send(row("abc"), 0)
    assert cache.send(row("abcde"), 1) == Use(read=3_000, written=2_000)


def test_one_changed_element_early_ends_the_read() -> None:
    cache = MarkedCache(LEAST)
    cache.send(row("abcdef", marked=(0, -1)), 0)
    assert cache.send(row("aXcdef", marked=(0, -1)), 1) == Use(read=1_000, written=5_000)
    automatic = AutomaticCache(LEAST)
    automatic.send(row("abcdef", tokens=1_280), 0)
    assert automatic.send(row("abXdef", tokens=1_280), 1) == Use(read=2_560, written=5_120)


def test_what_no_breakpoint_ends_is_not_cached() -> None:
    cache = MarkedCache(LEAST)
    assert cache.send(row("abcd", marked=(1,)), 0) == Use(written=2_000, uncached=2_000)
    assert cache.send(row("abcd", marked=(1,)), 1) == Use(read=2_000, uncached=2_000)
    assert cache.send(row("abcd", marked=()), 2) == Use(uncached=4_000)


def test_a_prefix_under_the_minimum_is_not_cached() -> None:
    cache = MarkedCache(2_500)
    assert cache.send(row("ab"), 0) == Use(uncached=2_000)
    assert cache.send(row("abc"), 1) == Use(written=3_000)
    automatic = AutomaticCache(2_500)
    assert automatic.send(row("ab"), 0) == Use(uncached=2_000)
    assert automatic.send(row("ab"), 1) == Use(uncached=2_000)


def test_a_breakpoint_looks_back_over_a_number_of_blocks() -> None:
    for blocks, read in ((LOOKED_BACK - 1, 2_000), (LOOKED_BACK, 0)):
        cache = MarkedCache(LEAST)
        cache.send(row("ab"), 0)
        request = [*row("ab", marked=()), Element("results", 500, blocks, "5m")]
        assert cache.send(request, 1).read == read


def test_an_entry_is_forgotten_after_its_life_and_renewed_by_a_read() -> None:
    cache = MarkedCache(LEAST)
    cache.send(row("ab"), 0)
    assert cache.send(row("ab"), 299).read == 2_000
    assert cache.send(row("ab"), 598).read == 2_000
    assert cache.send(row("ab"), 899).read == 0


def test_an_hour_is_written_apart_and_lives_an_hour() -> None:
    cache = MarkedCache(LEAST)
    request = [Element("system", 2_000, 1, "1h"), Element("question", 1_000, 1, "5m")]
    assert cache.send(request, 0) == Use(written=1_000, written_long=2_000)
    assert cache.send(request, 3_000) == Use(read=2_000, written=1_000)


def test_automatic_reads_are_whole_steps() -> None:
    cache = AutomaticCache(LEAST)
    cache.send(row("abc", tokens=1_100), 0)
    assert cache.send(row("abcd", tokens=1_100), 1).read == 3_300 // AUTOMATIC_STEP * AUTOMATIC_STEP


ELEMENTS = st.lists(
    st.builds(
        Element,
        key=st.integers(0, 3),
        tokens=st.integers(0, 5_000),
        blocks=st.integers(1, 25),
        life=st.sampled_from(["", "", "5m"]),
    ),
    max_size=12,
)


@pytest.mark.parametrize("kind", [MarkedCache, AutomaticCache])
@given(requests=st.lists(ELEMENTS, max_size=8), least=st.integers(0, 6_000), pause=st.floats(0, 400))
def test_read_written_and_uncached_add_up_to_what_was_sent(
    kind: type[Cache], requests: list[list[Element]], least: int, pause: float
) -> None:
    cache = kind(least)  # type: ignore[call-arg]
    for number, request in enumerate(requests):
        use = cache.send(request, number * pause)
        assert use.sent == sum(element.tokens for element in request)
        assert min(use) >= 0


@pytest.mark.parametrize("kind", [MarkedCache, AutomaticCache])
@given(request=ELEMENTS.filter(bool), changed=st.integers(0, 11))
def test_nothing_behind_a_changed_element_is_read(kind: type[Cache], request: list[Element], changed: int) -> None:
    changed %= len(request)
    cache = kind(0)  # type: ignore[call-arg]
    cache.send(request, 0)
    other = [*request[:changed], request[changed]._replace(key="changed"), *request[changed + 1 :]]
    assert cache.send(other, 1).read <= sum(element.tokens for element in request[:changed])


@given(request=ELEMENTS.filter(bool))
def test_a_request_sent_again_reads_all_that_it_wrote(request: list[Element]) -> None:
    cache = MarkedCache(0)
    first, again = cache.send(request, 0), cache.send(request, 1)
    assert again == Use(read=first.written, uncached=first.uncached)
