"""Templates made into pages: everything escaped, the style inside, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")


def page(template: str, **values: Any) -> str:
    """A page of a template. Values that are missing are an error, never an empty place."""
    environment = _environment()
    style = environment.get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return environment.get_template(template).render(style=style, policy=policy, **values)


def visible(text: str) -> str:
    """The text with its line ends alike, and with control characters and marks of direction as their numbers: a reader
    sees that they are there, and they do nothing.
    """
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def grouped(number: int) -> str:
    """A number as people read it."""
    return f"{number:,}"


def money(cost: float, unit: str) -> str:
    """A cost as people read it: dollars, or uncached input tokens."""
    if unit != "USD":
        return f"{cost:,.0f} tokens"
    return "$0" if not cost else f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("compactor.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["n"] = grouped
    made.filters["visible"] = visible
    return made
