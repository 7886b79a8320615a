"""Masks: the same for the same secret, in whatever is made of the messages, however it is spelled there."""

from __future__ import annotations

import base64
import json
from urllib.parse import unquote

import pytest

from compactor.core.credentials import Found, find
from compactor.core.masks import Masks, joined
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


def test_what_no_message_had_shares_no_number_with_another() -> None:
    masks = learned(said(f"key {AWS}"))
    assert masks.text("DB_PASSWORD=hunterhunter") == "DB_PASSWORD=[masked: password]"


@pytest.mark.parametrize("where", ["summary", "first message"])
def test_masks_of_other_messages_are_not_taken_for_ours(where: str) -> None:
    others, masks = "It used [masked: key 1] and [masked: AWS key 7].", Masks(find)
    masks.learn([said(others if where == "first message" else "Hello."), said(f"key {AWS}")], others)
    assert masks.text(f"key {AWS}") == "key [masked: AWS key 8]"


def test_our_own_masks_read_back_from_a_history_change_no_numbers() -> None:
    first, later = said(f"key {AWS}"), said(f"I read [masked: AWS key 1]; API_KEY={LONG}")
    assert learned(first, later).text(f"{AWS} {LONG}") == "[masked: AWS key 1] [masked: key 2]"


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


@pytest.mark.parametrize("number", [0, 255, 256, 257, 2_999])
def test_of_very_many_secrets_every_one_is_masked_wherever_it_stands(number: int) -> None:
    secrets = [f"a1b2c3d4e5f6g7h{number:05}" for number in range(3_000)]
    masks = learned(said("\n".join(f"API_KEY={secret}" for secret in secrets)))
    assert masks.text(f"it was {secrets[number]}.") == f"it was [masked: key {number + 1}]."


@pytest.mark.parametrize("cut", [4, 20, 39])
@pytest.mark.parametrize("is_result", [True, False])
def test_a_secret_that_goes_on_in_the_next_block_is_masked_in_both(cut: int, is_result: bool) -> None:
    message = said(f"before API_KEY={LONG[:cut]}", f"{LONG[cut:]} behind")
    if is_result:
        message = Content(Role.USER, (Part(Kind.TOOL_RESULT, "\n".join(texts(message)), "t", parts=message.parts),))
    masked = learned(message).content(message)
    assert texts(masked) == (
        ["before API_KEY=[masked: key 1]\n[masked: key 1] behind"]
        if is_result
        else ["before API_KEY=[masked: key 1]", "[masked: key 1] behind"]
    )


def test_a_name_in_one_block_tells_what_the_next_one_holds() -> None:
    message = said("The file says password: ", "tr0ub4dor3xy and nothing else")
    assert texts(learned(message).content(message))[1] == "[masked: password 1] and nothing else"


def test_a_key_in_three_blocks_leaves_none_of_its_lines() -> None:
    lines = KEY.text.splitlines(keepends=True)
    message = said("".join(lines[:4]), "".join(lines[4:9]), "".join(lines[9:]))
    masked = str(learned(message).content(message))
    assert not any(line.strip() in masked for line in lines[2:-2])


def test_a_line_of_a_key_is_known_again_where_it_stands_alone() -> None:
    line = KEY.secrets[5]
    assert learned(said(KEY.text)).text(f"   6 {line}\n") == "   6 [masked: private key 1]\n"


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
def test_base64_does_not_hide_a_secret_that_is_known(before: str) -> None:
    encoded = base64.b64encode(f"{before}{LONG}:x".encode()).decode()
    masked = learned(said(f"API_KEY={LONG}")).text(f"sent {encoded}")
    assert "[masked: " in masked
    assert not any(encoded[at : at + 8] in masked for at in range(len(before) * 4 // 3 + 2, len(encoded) - 11))


@pytest.mark.parametrize("spelled", ["p4ss%2Fw0rd%2Bof%3Djane", 'p4ss\\"w0rd\\nof'])
def test_other_spellings_of_a_known_secret_have_its_mask(spelled: str) -> None:
    secret = unquote(spelled) if "%" in spelled else json.loads(f'"{spelled}"')
    masks = Masks(lambda text: [Found(0, len(text), "key")] if text == secret else [])
    masks.learn([said(secret)])
    assert masks.text(f"<{spelled}>") == "<[masked: key 1]>"


@pytest.mark.parametrize("name", ["p\\u0061ssword", "password"])
def test_the_spelling_of_a_name_hides_nothing(name: str) -> None:
    message = called(f'{{"{name}": "tr0ub4dor3xy"}}')
    assert texts(learned(message).content(message)) == ['{"password": "[masked: password 1]"}']
