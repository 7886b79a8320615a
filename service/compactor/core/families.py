"""Which models count alike: a vocabulary, fixed costs and the price of images for every model id.

The figures are those that providers document, or that reported usage of real requests bears out; a guess is called one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import assert_never

from compactor.core.media import Cover, Crops, Flat, MediaRule, Patches, Tiles
from compactor.core.weights import Vocabulary
from compactor.model import Format


@dataclass(frozen=True, slots=True)
class Costs:
    """What a request costs besides its text and media, in tokens.

    `tools` is what the provider's hidden prompt costs as soon as there is one tool. Every content block, system block
    included, costs `block`, so that no block is ever free; `message` is what a message costs besides. `hidden_percent`
    is the price of a byte that only the provider can read, in hundredths of a token.
    """

    base: int = 0
    message: int = 0
    block: int = 0
    system: int = 0
    tools: int = 0
    tool: int = 0
    tool_use: int = 0
    tool_result: int = 0
    hidden_percent: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """Models that count alike. `scale` multiplies the price of text, in percent.

    `encoding` is the name of the tokenizer that the provider has published for it, empty where there is none.
    """

    name: str
    vocabulary: Vocabulary
    costs: Costs
    media: MediaRule
    encoding: str = ""
    scale: int = 100


# Fixed costs. A message of one block costs 4 with either provider. For Claude, the prices of tool blocks are a cautious
# guess; the hidden prompts are documented, here with `tool_choice` left to the model (a forced tool is about 100 more).
# A hidden byte is base64 of ciphertext: three bytes in four letters, at 3.0 (Claude 4.7 on), 4.1 (older Claude) or 4.4
# bytes of English to a token. In logs of Claude 4.5 that explains 738 reported counts as well as the reasoning's text.
_CLAUDE_COSTS = Costs(base=11, message=3, block=1, tools=700, tool=12, tool_use=16, tool_result=12, hidden_percent=25)
_OPENAI_COSTS = Costs(
    base=3, message=3, block=1, system=3, tools=24, tool=8, tool_use=8, tool_result=8, hidden_percent=17
)
_GEMINI_COSTS = Costs(block=1, tool=8, tool_use=4, tool_result=4, hidden_percent=17)

_OLD_CLAUDE_MEDIA = MediaRule(Cover(longest_edge=1_568, most=1_568), unknown_image=1_568)
_CLAUDE_MEDIA = MediaRule(Cover(longest_edge=2_576, most=4_784), unknown_image=4_784)
_OTHER_MEDIA = MediaRule(Cover(longest_edge=1_568, most=1_568), unknown_image=1_600)

_CLAUDE_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OLD_CLAUDE_TOOLS = {(4, 5): 496, (4, 6): 497}  # versions before 4.5: 313, before 4: 346
_CLAUDE_TOOLS: Mapping[tuple[str, tuple[int, int] | None], int] = MappingProxyType(
    {
        ("opus", (4, 7)): 675,
        ("opus", (4, 8)): 290,
        ("opus", (5, 0)): 286,
        ("opus", (5, 5)): 286,
        ("sonnet", (5, 0)): 354,
        ("sonnet", (5, 5)): 354,
    }
)


def _tiled(base: int, tile: int) -> MediaRule:
    # An image of unknown size costs what Codex takes for one; a model whose images cost more, what a square one does.
    return MediaRule(Tiles(base, tile), unknown_image=max(1_844, base + 4 * tile))


def _patched(percent: int, most: int = 1_536) -> MediaRule:
    return MediaRule(Patches(percent, most, most_high=1_536), unknown_image=max(1_844, ceil(1_536 * percent / 100)))


# OpenAI's models, the first that matches. From 5.4 on, images are not scaled down unless high detail is asked for.
_OPENAI_MODELS: tuple[tuple[re.Pattern[str], Vocabulary, MediaRule], ...] = tuple(
    (re.compile(rf"(?<![a-z0-9])(?:chat)?(?:{pattern})"), vocabulary, media)
    for pattern, vocabulary, media in (
        (r"gpt-4o-mini", Vocabulary.O200K, _tiled(2_833, 5_667)),
        (r"gpt-5-nano", Vocabulary.O200K, _patched(150)),
        (r"(?:gpt-4\.1|gpt-[56](?:\.\d+)?)-nano", Vocabulary.O200K, _patched(246)),
        (r"(?:gpt-4\.1|gpt-[56](?:\.\d+)?)-mini", Vocabulary.O200K, _patched(162)),
        (r"(?<![-_])o4-mini|codex-mini", Vocabulary.O200K, _patched(172)),
        (r"(?<![-_])o\d(?!\d)", Vocabulary.O200K, _tiled(75, 150)),
        (r"gpt-5(?:\.1)?(?![.\d])", Vocabulary.O200K, _tiled(70, 140)),
        (r"gpt-5\.[23](?!\d)", Vocabulary.O200K, _patched(120)),
        (r"gpt-[56](?!\d)", Vocabulary.O200K, _patched(120, most=10_000)),
        (r"gpt-4o|gpt-4\.[15](?!\d)|gpt-oss", Vocabulary.O200K, _tiled(85, 170)),
        (r"gpt-4(?!\d)|gpt-3\.?5", Vocabulary.CL100K, _tiled(85, 170)),
    )
)
_GEMINI = re.compile(r"(?<![a-z])(?:gemini|gemma)-?(\d*)")
_OTHER_MODELS = re.compile(
    r"(?<![a-z])(?:grok|deepseek|kimi|moonshot|glm|qwen|nova|mistral|mixtral|ministral|magistral|codestral|devstral)"
)
# Against OpenAI's newer vocabulary: Gemini's is published as 8 % dearer, taken here as 10; of the others, one reported
# count is at hand (a DeepSeek request of 9,204 tokens), and that is 30 % dearer.
_GEMINI_SCALE, _OTHER_SCALE = 110, 130


@lru_cache(maxsize=1_024)
def family_of(model: str, format: Format) -> Family:
    """The family of a model by its id, in any reseller's spelling; of an unknown one, that of the format's provider."""
    name = model.lower()
    if "claude" in name:
        return _claude_family(name[name.index("claude") :])
    for pattern, vocabulary, media in _OPENAI_MODELS:
        if pattern.search(name):
            return Family(
                f"{vocabulary}/{_media_name(media)}", vocabulary, _OPENAI_COSTS, media, encoding=f"{vocabulary}_base"
            )
    if gemini := _GEMINI.search(name):
        crops = gemini[1] in ("1", "2") or gemini[0].startswith("gemma")
        image = Crops(258) if crops else Flat(1_120)
        media = MediaRule(image, unknown_image=1_120)
        return Family(f"gemini/{_media_name(media)}", Vocabulary.O200K, _GEMINI_COSTS, media, scale=_GEMINI_SCALE)
    costs, media = _FORMAT_COSTS[format], _FORMAT_MEDIA[format]
    if _OTHER_MODELS.search(name):
        return Family(f"other/{format}", Vocabulary.O200K, costs, _OTHER_MEDIA, scale=_OTHER_SCALE)
    return Family(f"unknown/{format}", Vocabulary.CLAUDE_48, costs, media)


def _claude_family(name: str) -> Family:
    """The family of an id from "claude" on. The version may stand before or after the line, with a date behind it."""
    found = _CLAUDE_VERSION.search(name)
    version = (int(found[1]), int(found[2] or 0)) if found else None
    line = next((line for line in ("opus", "sonnet", "haiku") if line in name), "")
    if version is not None and (version < (4, 7) or (line == "haiku" and version < (5, 0))):
        vocabulary, media, base, hidden = Vocabulary.CLAUDE_3, _OLD_CLAUDE_MEDIA, 7, 18
        tools = 346 if version < (4, 0) else _OLD_CLAUDE_TOOLS.get(version, 313)
    else:
        vocabulary, media, hidden = Vocabulary.CLAUDE_48, _CLAUDE_MEDIA, 25
        base = 6 if version is not None and version > (4, 7) else 11
        tools = _CLAUDE_TOOLS.get((line, version), 700)
    costs = replace(_CLAUDE_COSTS, base=base, tools=tools, hidden_percent=hidden)
    return Family(f"{vocabulary}/{base}/{tools}", vocabulary, costs, media)


_FORMAT_COSTS: Mapping[Format, Costs] = MappingProxyType(
    {Format.ANTHROPIC_MESSAGES: _CLAUDE_COSTS, Format.OPENAI_CHAT: _OPENAI_COSTS}
)
_FORMAT_MEDIA: Mapping[Format, MediaRule] = MappingProxyType(
    {Format.ANTHROPIC_MESSAGES: _CLAUDE_MEDIA, Format.OPENAI_CHAT: _tiled(85, 170)}
)


def _media_name(rule: MediaRule) -> str:
    image = rule.image
    match image:
        case Cover(longest_edge, most):
            return f"cover-{longest_edge}-{most}"
        case Tiles(base, tile):
            return f"tiles-{base}-{tile}"
        case Patches(percent, most, _):
            return f"patches-{percent}-{most}"
        case Crops(crop):
            return f"crops-{crop}"
        case Flat(tokens):
            return f"flat-{tokens}"
        case _:
            assert_never(image)
