"""What tokens cost: listed, said, or in proportion."""

from __future__ import annotations

import pytest

from compactor.model import SummarizerUsage
from compactor.replay.cache import Use
from compactor.replay.prices import tariff_of

MANY = 1_000_000


@pytest.mark.parametrize(
    "model", ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "us.anthropic.claude-haiku-4-5-20251001-v1:0"]
)
def test_a_routed_name_finds_the_prices_of_its_model(model: str) -> None:
    tariff = tariff_of(model, {})
    assert tariff.unit == "USD"
    assert tariff.cost(Use(uncached=MANY)) == pytest.approx(tariff_of("claude-haiku-4-5", {}).cost(Use(uncached=MANY)))


def test_a_listed_read_is_cheaper_than_a_write_and_an_hour_is_dearer() -> None:
    cost = tariff_of("claude-haiku-4-5", {}).cost
    uncached, read = cost(Use(uncached=MANY)), cost(Use(read=MANY))
    written, long = cost(Use(written=MANY)), cost(Use(written_long=MANY))
    assert 0 < read < uncached < written < long
    assert cost(Use(1_000, 2_000, 3_000, 4_000)) == pytest.approx(
        (read * 1_000 + written * 2_000 + long * 3_000 + uncached * 4_000) / MANY
    )


def test_a_model_that_no_list_knows_is_priced_in_tokens() -> None:
    tariff = tariff_of("a-model-of-my-own", {})
    assert tariff.unit == "tokens"
    assert tariff.cost(Use(read=1_000, written=100, uncached=10)) == pytest.approx(100 + 125 + 10)


def test_a_summary_is_priced_at_the_model_that_wrote_it() -> None:
    dear = tariff_of("claude-opus-4-5", {})
    by_cheap = SummarizerUsage("claude-haiku-4-5", 1, 10_000, 1_000)
    by_dear = SummarizerUsage("claude-opus-4-5", 1, 10_000, 1_000)
    assert dear.summary_cost(by_cheap) < dear.summary_cost(by_dear)
    said = tariff_of("claude-opus-4-5", {"input": 1.0, "output": 10.0})
    assert said.summary_cost(by_cheap) == pytest.approx((10_000 + 10 * 1_000) / MANY)
