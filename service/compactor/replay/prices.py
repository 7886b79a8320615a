"""What input tokens cost: by a list of prices, by prices that were said, or in the price of one uncached token.

The list is the package `genai-prices`, which carries what providers publish, dearer rates for long requests included,
as of its own release; nothing is downloaded. Where it does not know a model, costs are told in uncached input tokens,
with the proportions that Anthropic publishes for most of its models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

from compactor.model import SummarizerUsage
from compactor.replay.cache import Use

MILLION = 1_000_000
PROPORTIONS: Mapping[str, float] = {"input": 1.0, "read": 0.1, "write": 1.25, "write-1h": 2.0, "output": 5.0}
"""What tokens cost beside an uncached input token, by kind."""

_ROUTE = re.compile(r"^(?:.*/)?(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?")
_VERSION = re.compile(r"(?:-v\d+(?::\d+)?|@\d+)$")


class Tariff(Protocol):
    """A way of pricing. `unit` is "USD", or "tokens" for uncached input tokens; `source` says where it is from."""

    @property
    def unit(self) -> str: ...
    @property
    def source(self) -> str: ...
    def cost(self, use: Use) -> float:
        """What one request costs."""
        ...

    def summary_cost(self, usage: SummarizerUsage) -> float:
        """What a summary by a model costs."""
        ...


@dataclass(frozen=True, slots=True)
class Flat:
    """Prices by kind for a million tokens, the same for requests of any length and for the model that summarises."""

    prices: Mapping[str, float]
    unit: str
    source: str

    def cost(self, use: Use) -> float:
        by = self.prices
        spent = use.uncached * by["input"] + use.read * by["read"]
        return (spent + use.written * by["write"] + use.written_long * by["write-1h"]) / MILLION

    def summary_cost(self, usage: SummarizerUsage) -> float:
        by = self.prices
        read = usage.cache_read_input_tokens * by["read"] + usage.cache_creation_input_tokens * by["write"]
        return (usage.input_tokens * by["input"] + read + usage.output_tokens * by["output"]) / MILLION


@dataclass(frozen=True, slots=True)
class Listed:
    """The list's prices of a model, found under `name`; a summary at those of the model that wrote it."""

    name: str
    unit: str
    source: str

    def cost(self, use: Use) -> float:
        written = use.written + use.written_long
        return _listed(
            self.name,
            input_tokens=use.sent,
            cache_read_tokens=use.read,
            cache_write_tokens=written,
            cache_write_1h_tokens=use.written_long,
        )

    def summary_cost(self, usage: SummarizerUsage) -> float:
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        return _listed(
            _listed_name(usage.model) or self.name,
            input_tokens=usage.input_tokens + read + written,
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=usage.output_tokens,
        )


def tariff_of(model: str, said: Mapping[str, float]) -> Tariff:
    """The tariff for a model: the prices that were said, else the list's, else uncached input tokens.

    Of prices that were said, `input` is needed; those that were not are in proportion to it. Raises ValueError.
    """
    if said:
        if "input" not in said:
            raise ValueError("the price of input tokens has to be said with the others")
        prices = {kind: said.get(kind, said["input"] * share) for kind, share in PROPORTIONS.items()}
        return Flat(prices, "USD", "as said on the command line")
    name = _listed_name(model)
    if name is not None:
        return Listed(name, "USD", f"genai-prices {version('genai-prices')}, {name}")
    prices = {kind: share * MILLION for kind, share in PROPORTIONS.items()}
    why = "the list has no prices of this model" if find_spec("genai_prices") else "genai-prices is not installed"
    return Flat(prices, "tokens", why)


def _listed_name(model: str) -> str | None:
    """The name under which the list knows a model; None where it does not, or where it is not installed."""
    for name in _names(model):
        try:
            _listed(name, input_tokens=1)
        except (LookupError, ImportError):
            continue
        return name
    return None


def _names(model: str) -> Iterator[str]:
    """A model's name as it stands, without the route that leads to it, and without a route's version."""
    yield model
    bare = _ROUTE.sub("", model)
    yield bare
    yield _VERSION.sub("", bare)


def _listed(name: str, **tokens: int) -> float:
    from genai_prices import Usage, calc_price

    counted: Any = Usage(**tokens)
    return float(calc_price(counted, name).total_price)
