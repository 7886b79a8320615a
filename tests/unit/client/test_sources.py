"""Formats told from bodies, policies from names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hango.compaction import InvalidRequest, MalformedPayload, Policy, UnknownFormat, format_of, policy_of
from hango.compaction.sources import encoded, native
from hango.compaction.v1 import policy_pb2

SESSIONS = sorted((Path(__file__).resolve().parents[3] / "examples" / "sessions").glob("*.json"))
HELLO = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_example_sessions_tell_their_format(path: Path) -> None:
    body = path.read_bytes()
    assert format_of(body) == format_of(json.loads(body)) == path.stem.rpartition("-")[2]


def blocks(*kinds: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": kind} for kind in kinds]}]


@pytest.mark.parametrize(
    ("body", "format"),
    [
        ({"system": "Be brief", "messages": [HELLO]}, "anthropic"),
        ({"max_completion_tokens": 5, "model": "claude-opus-5", "messages": [HELLO]}, "openai"),
        ({"tools": [{"name": "f", "input_schema": {}}], "messages": [HELLO]}, "anthropic"),
        ({"tools": [{"type": "function", "function": {}}], "messages": [HELLO]}, "openai"),
        ({"messages": [{"role": "system", "content": "Be brief"}, HELLO]}, "openai"),
        ({"messages": [HELLO, {"role": "assistant", "tool_calls": []}]}, "openai"),
        ({"messages": [HELLO, {"role": "tool", "content": "x"}]}, "openai"),
        ({"model": "gpt-5", "messages": blocks("text", "tool_result")}, "anthropic"),
        ({"model": "claude-opus-5", "messages": blocks("text", "image_url")}, "openai"),
        ({"model": "us.anthropic.claude-opus-5", "messages": [HELLO]}, "anthropic"),
        ({"model": "openai/gpt-5.1", "messages": [HELLO]}, "openai"),
        ({"model": "o3", "messages": [HELLO]}, "openai"),
    ],
)
def test_the_first_sign_tells_the_format(body: dict[str, Any], format: str) -> None:
    assert format_of(body) == format
    assert format_of(json.dumps(body).encode()) == format


@pytest.mark.parametrize("body", [{"model": "mistral-large", "messages": [HELLO]}, {"messages": []}, {}])
def test_a_body_without_a_sign_has_to_be_named(body: dict[str, Any]) -> None:
    for form in (body, json.dumps(body).encode()):
        with pytest.raises(UnknownFormat, match="anthropic or openai"):
            format_of(form)
    assert native(body, "openai").body == encoded(body)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedPayload) as raised:
        format_of(body)
    assert raised.value.reason == "MALFORMED_PAYLOAD"
    assert isinstance(raised.value, InvalidRequest)


def test_half_a_surrogate_pair_reaches_the_service() -> None:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "\ud83d"}]}
    assert format_of(encoded(body)) == "openai"
    assert json.loads(encoded(body)) == body


def test_a_dict_is_written_compactly_and_as_it_is() -> None:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Grüße 世界"}], "n": 1 << 70, "t": 0.1}
    assert encoded(body) == json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="anthropic or openai"):
        native(b"{}", "gemini")  # type: ignore[arg-type]


def test_a_policy_is_made_from_values_or_texts() -> None:
    values = {
        "max_input_tokens": 60_000,
        "keep_fraction": 0.25,
        "keep_unit": "TOKENS",
        "prompt_caching": False,
        "cache_ttl": "1h",
        "unclipped_tools": ["a", "b"],
        "repair": policy_pb2.REPAIR_SYNTHESIZE,
        "instructions": None,
    }
    texts = {
        "max_input_tokens": "60000",
        "keep_fraction": "0.25",
        "keep_unit": "tokens",
        "prompt_caching": "False",
        "cache_ttl": "1h",
        "unclipped_tools": "a, b,",
        "repair": "SYNTHESIZE",
    }
    wanted = Policy(
        max_input_tokens=60_000,
        keep_fraction=0.25,
        keep_unit=policy_pb2.KEEP_UNIT_TOKENS,
        prompt_caching=False,
        cache_ttl="1h",
        unclipped_tools=["a", "b"],
        repair=policy_pb2.REPAIR_SYNTHESIZE,
    )
    assert policy_of(values) == policy_of(texts) == wanted


@pytest.mark.parametrize("field", list(Policy.DESCRIPTOR.fields), ids=lambda field: field.name)
def test_every_field_of_the_policy_can_be_set_by_its_name(field: Any) -> None:
    short = field.enum_type and field.enum_type.values[1].name.partition("_")[2]
    for text in ("1", "true", "x", *(field.enum_type.values[1].name.split("_")[-1:] if short else ())):
        try:
            policy = policy_of({field.name: text})
        except ValueError:
            continue
        assert policy.ListFields()[0][0].name == field.name
        return
    pytest.fail(f"no value fits {field.name}")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_tokens", 1, "no field 'max_tokens'; it has max_input_tokens, "),
        ("max_input_tokens", "many", "a whole number"),
        ("max_input_tokens", 1.5, "a whole number"),
        ("max_input_tokens", True, "a whole number"),
        ("max_input_tokens", 1 << 70, "a whole number"),
        ("keep_fraction", "", "a number"),
        ("prompt_caching", "maybe", "true or false"),
        ("prompt_caching", 1, "true or false"),
        ("cache_ttl", 5, "a text"),
        ("repair", "MEND", "REJECT or SYNTHESIZE"),
        ("repair", "UNSPECIFIED", "REJECT or SYNTHESIZE"),
        ("repair", 9, "REJECT or SYNTHESIZE"),
        ("unclipped_tools", 5, "a list of texts"),
        ("unclipped_tools", [5], "a list of texts"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        policy_of({name: value})
    assert name in str(raised.value)
