"""Every common kind of credential is found, whole; what the work needs is not."""

from __future__ import annotations

import random
import string
from itertools import pairwise

import pytest

from compactor.core.credentials import Found
from compactor.core.masks import Masks
from compactor.model import Content, Kind, Part, Role
from compactor.providers.kingfisher import KingfisherRedactor
from tests.builders import credentials

FIND = KingfisherRedactor().find
SHOWN = credentials.shown()


def masked(text: str) -> str:
    masks = Masks(FIND)
    masks.learn([Content(Role.USER, (Part(Kind.TEXT, text),))])
    return masks.text(text)


def found(text: str) -> list[str]:
    return [text[one.start : one.stop] for one in FIND(text)]


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_nothing_of_a_credential_is_left(kind: str) -> None:
    text, secrets = SHOWN[kind]
    result = masked(text)
    for secret in secrets:
        assert all(secret[at : at + 8] not in result for at in range(len(secret) - 7)), result
    assert "[masked: " in result


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_what_stands_around_it_stays(kind: str) -> None:
    text, _ = SHOWN[kind]
    words = [word for word in ("please", "git clone", "Encrypt=true", "core.windows.net", "DEBUG=1") if word in text]
    assert all(word in masked(text) for word in words)


@pytest.mark.parametrize("seed", range(2, 8))
def test_other_credentials_of_the_same_kinds_are_found_too(seed: int) -> None:
    missed = [
        kind
        for kind, (text, secrets) in credentials.shown(seed).items()
        if any(secret in masked(text) for secret in secrets)
    ]
    assert not missed


@pytest.mark.parametrize("kind", sorted(credentials.LOOK_ALIKES))
def test_what_the_work_needs_stays(kind: str) -> None:
    assert found(credentials.LOOK_ALIKES[kind]) == []


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_a_masked_text_is_masked_no_further(kind: str) -> None:
    once = masked(SHOWN[kind].text)
    assert masked(once) == once


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_a_mask_enlarges_little(kind: str) -> None:
    text, secrets = SHOWN[kind]
    assert len(masked(text)) <= len(text) + 40 * len(secrets)


def test_a_mask_names_the_kind() -> None:
    names = {kind: masked(SHOWN[kind].text) for kind in ("aws id", "jwt", "url", "private key EC", "github ghp_")}
    assert "[masked: AWS key 1]" in names["aws id"]
    assert "[masked: JWT 1]" in names["jwt"]
    assert "https://jane:[masked: password 1]@git.example.com/a.git" in names["url"]
    assert names["private key EC"] == "cat key\n[masked: private key 1]\nok"
    assert "[masked: github pat 1]" in names["github ghp_"]


@pytest.mark.parametrize("before", ["", "é", "日本語 ", "\ufeff", "\0\0a\0b\0", "😀" * 50, "\ud83d "])
def test_places_are_in_characters(before: str) -> None:
    token, other = SHOWN["github ghp_"].secrets[0], SHOWN["github gho_"].secrets[0]
    assert found(f"{before}{token} é {other}") == [token, other]


def test_found_ones_do_not_overlap() -> None:
    text = "\n".join(one.text for one in SHOWN.values())
    places = FIND(text)
    assert all(one.stop <= other.start for one, other in pairwise(places))
    assert FIND(text) == places


def test_base64_of_media_is_no_credential() -> None:
    data = random.Random(3).randbytes(60_000)  # noqa: S311
    letters = "".join(string.ascii_letters[byte % 52] + string.digits[byte % 10] for byte in data)
    assert found(f"data:image/png;base64,{letters}") == []


_MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "password",
            "password=",
            'password="',
            "://",
            "://a:",
            "://a:b",
            "eyJ",
            "sk-",
            "key",
            "token ",
            "bearer ",
        ),
        *("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----", "-----END ", "AKIA", "pass \n"),
        *("\\", 'api_key="\\"', "token: int = 5, ", "İ", "basic QWxhZGRpbjpvcGVu", "eyJaaaaaaaaaaa.", "a-", "Q~", "'"),
        *("secret: a1b2c3d4e5f6g7h8 ", "authorization: ", "sig=&", "login a password ", "password: x: "),
        *(
            "cookie: ",
            "cookie: a=b; ",
            "mysql ",
            "mysql -a ",
            "sshpass -p ",
            "QUJD",
            "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY ",
        ),
        *("-----END RSA PRIVATE KEY-----", "AAAABBBBCCCCDDDD ", "AAAABBBBCCCCDDDD\n-----END RSA PRIVATE KEY-----\n"),
        f"é {SHOWN['github ghp_'].secrets[0]} ",
    ],
    ids=lambda piece: piece[:24].encode("unicode_escape").decode(),
)
def test_hostile_megabytes_come_to_an_end(piece: str) -> None:
    text = piece * (_MEGABYTE // len(piece))
    assert all(isinstance(one, Found) for one in FIND(text))
