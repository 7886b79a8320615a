"""Masks: the same for the same secret, in whatever is made of the messages, however it is spelled there."""

from __future__ import annotations

import json

import pytest

from compactor.core.credentials import Found, find
from compactor.core.masks import MOST_SPREAD, Masks, joined
from compactor.model import Content, Kind, Media, Part, Role
from tests.builders import credentials

AWS, LONG = credentials.shown()["aws pair"].secrets
KEY = credentials.shown()["private key RSA"]


def said(*texts: str) -> Content:
    return Content(Role.USER, tuple(Part(Kind.TEXT, text) for text in texts))


def called(arguments: str) -> Content:
    return Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, arguments, "toolu_1", "run"),))


def learned(*contents: Content) -> Masks:
    masks = Masks(find)
    masks.learn(contents)
    return masks


def texts(content: Content) -> list[str]:
    return [part.text for part in content.parts]


def test_secrets_are_numbered_where_they_first_stand() -> None:
    masks = learned(said(f"key {AWS}"), said(f"AWS_SECRET_ACCESS_KEY={LONG} with {AWS}"))
    assert masks.text(f"AWS_SECRET_ACCESS_KEY={LONG} {AWS}") == (
        "AWS_SECRET_ACCESS_KEY=[masked: key 2] [masked: AWS key 1]"
    )


def test_later_messages_do_not_change_earlier_numbers() -> None:
    first = said(f"key {AWS}")
    assert learned(first).content(first) == learned(first, said("DB_PASSWORD=hunterhunter")).content(first)


def test_a_secret_is_masked_where_nothing_says_what_it_is() -> None:
    masks = learned(said(f"API_KEY={LONG}"))
    assert masks.text(f"it was {LONG}.") == "it was [masked: key 1]."


@pytest.mark.parametrize("word", ["postgres", "hunterhunter", "12345678"])
def test_a_word_is_a_password_only_where_it_stands_as_one(word: str) -> None:
    masks = learned(said(f"DB_PASSWORD={word}"))
    assert masks.text(f"start {word} now") == f"start {word} now"
    assert masks.text(f"DB_PASSWORD={word}") == "DB_PASSWORD=[masked: password 1]"


def test_what_no_message_had_is_numbered_on() -> None:
    masks = learned(said(f"key {AWS}"))
    assert masks.text("DB_PASSWORD=hunterhunter") == "DB_PASSWORD=[masked: password 2]"


def test_arguments_stay_json_with_the_same_keys() -> None:
    given = {"path": ".env", "content": f"A=1\nDB_PASSWORD=hunter\\2\n{KEY.text}\n{AWS}", "n": 3}
    message = called(json.dumps(given))
    masked = json.loads(texts(learned(message).content(message))[0])
    assert masked == {
        "path": ".env",
        "content": "A=1\nDB_PASSWORD=[masked: password 1]\ncat key\n[masked: private key 2]\nok\n[masked: AWS key 3]",
        "n": 3,
    }


@pytest.mark.parametrize("spelling", [r"\u0041", "A"])
def test_escapes_hide_nothing(spelling: str) -> None:
    message = called(f'{{"text": "{spelling}{AWS[1:]} and a\\/b"}}')
    assert AWS[1:] not in texts(learned(message).content(message))[0]


def test_arguments_without_credentials_are_left_as_they_are_spelled() -> None:
    message = called('{"a": "x\\u002fy",  "b": 1e3}')
    assert learned(message).content(message) is message


def test_parts_inside_results_and_addresses_of_media_are_masked() -> None:
    inner = (Part(Kind.TEXT, f"key {AWS}"), Part(Kind.MEDIA, media=Media("image", reference=f"https://x/?sig={LONG}")))
    message = Content(Role.USER, (Part(Kind.TOOL_RESULT, f"key {AWS}", "toolu_1", parts=inner),))
    assert AWS not in str(learned(message).content(message))
    assert LONG not in str(learned(message).content(message))


def test_documents_of_text_are_masked_and_other_media_are_not() -> None:
    document, image = Media("document", "text/plain", f"key {AWS}"), Media("image", "image/png", "QUtJQQ==")
    message = Content(Role.USER, (Part(Kind.MEDIA, media=document), Part(Kind.MEDIA, media=image)))
    masked = learned(message).content(message)
    assert [part.media and part.media.data for part in masked.parts] == ["key [masked: AWS key 1]", "QUtJQQ=="]


def test_ids_and_names_are_left() -> None:
    part = Part(Kind.TOOL_USE, f'{{"key": "{AWS}"}}', "toolu_01A09q90qw90lq917835lq9", "aws_secret")
    masked = learned(Content(Role.ASSISTANT, (part,))).content(Content(Role.ASSISTANT, (part,))).parts[0]
    assert (masked.id, masked.name) == (part.id, part.name)


def test_a_secret_inside_another_is_not_masked_twice() -> None:
    masks = learned(said(f"API_KEY={LONG}"), said(f"TOKEN={LONG}{AWS}"))
    assert LONG not in masks.text(f"TOKEN={LONG}{AWS}")
    assert AWS not in masks.text(f"TOKEN={LONG}{AWS}")


def test_of_equal_places_the_issuer_names_the_kind() -> None:
    assert joined([Found(0, 5, "token"), Found(0, 5, "github pat"), Found(7, 9, "key")]) == [
        Found(0, 5, "github pat"),
        Found(7, 9, "key"),
    ]


def test_very_many_secrets_are_all_masked_where_they_stand() -> None:
    text = "\n".join(f"API_KEY=a1b2c3d4e5f6g7h{number:05}" for number in range(4 * MOST_SPREAD))
    assert "a1b2c3d4" not in learned(said(text)).text(text)
