"""Credentials by where they stand: what a text itself calls a password, a key or a token.

Formats of known issuers are a catalogue's business. Here is what no format tells: values behind a name that says so
(`DB_PASSWORD=…`, `"client_secret": "…"`, `--token …`), the passwords of URLs, what an Authorization header carries,
blocks of private keys, cut ones at either end included, a few formats that say enough by themselves, and base64 of a
text in which one of these stands.

What could be something else stays: an agent goes on working with hashes, ids and paths. So a value behind a name has to
look like one: a word, an expression, a path, a type, a version or a placeholder does not. Behind a name that only
credentials have, a short value is enough; behind `token` or `key` it has to look random.

Each search begins at a fixed word and looks at a bounded piece of text behind it, so the time is linear.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple


class Found(NamedTuple):
    """A credential in a text: from where to where it stands, and of what kind it is, in a word or two."""

    start: int
    stop: int
    kind: str


PASSWORD, PRIVATE_KEY, TOKEN, SECRET, KEY, SIGNATURE = (
    "password",
    "private key",
    "token",
    "secret",
    "key",
    "signature",
)
GENERIC = frozenset((PASSWORD, TOKEN, SECRET, KEY, SIGNATURE))
"""The kinds that say nothing of who issued it."""

_LONGEST = 4_096
_LONGEST_KEY = 32_768
_LOOK_BACK = 64


def find(text: str) -> list[Found]:
    """The credentials of a text in the order in which they begin; one may stand in another."""
    return sorted([*_plain(text), *_encoded(text)])


def _plain(text: str) -> Iterator[Found]:
    low = text.replace("İ", "I").lower()  # the one letter that is longer in lower case
    yield from _by_format(text)
    yield from _keys(text)
    yield from _in_urls(text)
    yield from _in_headers(text, low)
    yield from _in_commands(text, low)
    yield from _named(text, low)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


# Formats that the catalogue knows only beside something else, or not at all.

_BEFORE = r"(?<![A-Za-z0-9])"
_FORMATS = tuple(
    (word, kind, re.compile(pattern))
    for word, kind, pattern in (
        *((word, "AWS key", rf"{_BEFORE}{word}[A-Z2-7]{{16}}(?![A-Za-z0-9])") for word in ("AKIA", "ASIA", "ABIA")),
        ("ya29.", "Google token", rf"{_BEFORE}ya29\.[\w.-]{{20,2048}}"),
        ("GOCSPX-", "Google secret", rf"{_BEFORE}GOCSPX-[\w-]{{20,64}}"),
        ("AIza", "Google key", rf"{_BEFORE}AIza[\w-]{{35}}"),
        ("whsec_", "webhook secret", rf"{_BEFORE}whsec_[A-Za-z0-9+/=]{{24,128}}"),
        (
            "sk-",
            "API key",
            r"(?<![A-Za-z0-9_-])sk-(?=[\w-]{0,255}?[0-9])(?=[\w-]{0,255}?[A-Za-z0-9]{16})[\w-]{20,256}",
        ),
        ("sk_", "Stripe key", rf"{_BEFORE}sk_(?:live|test|prod)_\w{{16,256}}"),
        ("rk_", "Stripe key", rf"{_BEFORE}rk_(?:live|test|prod)_\w{{16,256}}"),
        ("glpat-", "GitLab token", rf"{_BEFORE}glpat-[\w-]{{20,128}}(?:\.[\w-]{{1,64}}){{0,2}}"),
        ("xox", "Slack token", rf"{_BEFORE}xox[abeoprs]-(?:\d+-)?[\w-]{{16,512}}"),
        ("eyJ", "JWT", rf"{_BEFORE}eyJ[\w-]{{10,4096}}\.eyJ[\w-]{{4,8192}}(?:\.[\w-]{{1,4096}})?"),
    )
)
_AZURE = re.compile(r"(?<![\w.~-])[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~-])", re.ASCII)


def _by_format(text: str) -> Iterator[Found]:
    for word, kind, pattern in _FORMATS:
        for at in _places(text, word):
            if match := pattern.match(text, at):
                yield Found(at, match.end(), kind)
    for at in _places(text, "Q~"):
        if at >= 4 and (match := _AZURE.match(text, at - 4)):
            yield Found(match.start(), match.end(), "Azure secret")


# Private keys: from the header to the footer; where one was cut off, all lines that can be of a key.

_HEADER = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_FOOTER = "-----END "
_FOOTER_LINE = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_GUTTER = r"(?:\s|\\+[nrt]|[\"'+,|>]|[0-9]{1,6}[:→\t])"
_KEY_LINES = re.compile(
    rf"(?:{_GUTTER}{{0,64}}+[A-Za-z0-9+/]{{16,}}+={{0,2}})++(?:{_GUTTER}{{0,64}}+[A-Za-z0-9+/]{{1,76}}={{1,2}})?"
)
_KEY_LINE = re.compile(rf"(?<![A-Za-z0-9/=])([A-Za-z0-9+/]{{1,128}}+)={{0,2}}{_GUTTER}{{1,64}}+")
_LEAST_LINE = 16
_KEY_RUN = re.compile(r"[A-Za-z0-9+/]{32}")


def _keys(text: str) -> Iterator[Found]:
    done, footer = 0, -2
    for at in _places(text, "-----BEGIN "):
        if at < done or not (header := _HEADER.match(text, at)):
            continue
        if footer != -1 and footer < header.end():
            footer = text.find(_FOOTER, header.end())
        stop = 0
        if 0 <= footer <= at + _LONGEST_KEY and (line := _FOOTER_LINE.match(text, footer)):
            stop = line.end()
        elif lines := _KEY_LINES.match(text, header.end()):
            stop = lines.end()
        if stop:
            done = stop
            yield Found(at, stop, PRIVATE_KEY)
    yield from _ends_of_keys(text)


def _ends_of_keys(text: str) -> Iterator[Found]:
    """The lines before a footer that can be of a key, as where a file was read in pieces."""
    done = 0
    for at in _places(text, _FOOTER):
        if line := _FOOTER_LINE.match(text, at):
            start = at
            for before in reversed(list(_KEY_LINE.finditer(text, max(done, at - _LONGEST_KEY), at))):
                if before.end() != start or (start < at and len(before[1]) < _LEAST_LINE):
                    break
                start = before.start()
            if _KEY_RUN.search(text, start, at):
                yield Found(start, line.end(), PRIVATE_KEY)
            done = line.end()


# URLs: the password of a user, or a token in a user's place.

_PASSWORD_OF_USER = re.compile(r"://[^\s/?#@:\"'<>`]{0,128}:([^\s/\"'<>`]{1,256})@(?=[\w\[.$%{-])")
_TOKEN_AS_USER = re.compile(r"://([\w.~-]{20,256})@(?=[\w\[.-])", re.ASCII)


def _in_urls(text: str) -> Iterator[Found]:
    for at in _places(text, "://"):
        if match := _PASSWORD_OF_USER.match(text, at):
            value = match[1]
            if len(value) >= 3 and not _is_placeholder(value) and not _SAMPLE.fullmatch(value):
                yield Found(*match.span(1), PASSWORD)
        elif (match := _TOKEN_AS_USER.match(text, at)) and _is_random(match[1]):
            yield Found(*match.span(1), TOKEN)


# What headers carry.

_BEARER = re.compile(r"bearer\s{1,4}[\"']?([\w.~+/=-]{16,4096})", re.ASCII | re.IGNORECASE)
_BASIC = re.compile(r"basic\s{1,4}([A-Za-z0-9+/]{6,512}={0,2})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"authorization\\{0,4}[\"']?\s{0,4}[:=,]\s{0,4}\\{0,4}[\"'`]?(?:[A-Za-z][\w-]{1,24}\s{1,4})?([\w.~+/=:-]{12,4096})",
    re.ASCII | re.IGNORECASE,
)
_COOKIE = re.compile(r"cookie\\{0,4}[\"']?\s{0,4}[:=]\s{0,4}\\{0,4}[\"'`]?([^\n\"'`\\]{1,4096})", re.IGNORECASE)
_CRUMB = re.compile(r"[\w.-]{1,128}=([^;\s,]{16,4096})", re.ASCII)
_SIGNED = re.compile(r"(?:sig|signature)=([\w.~+/=%-]{16,1024})", re.ASCII | re.IGNORECASE)


def _in_headers(text: str, low: str) -> Iterator[Found]:
    for at in _places(low, "bearer"):
        if (match := _BEARER.match(text, at)) and _is_random(match[1]):
            yield Found(*match.span(1), TOKEN)
    for at in _places(low, "basic "):
        if (match := _BASIC.match(text, at)) and _is_pair(match[1]):
            yield Found(*match.span(1), PASSWORD)
    for at in _places(low, "authorization"):
        if (match := _AUTHORIZATION.match(text, at)) and _is_random(match[1]):
            yield Found(*match.span(1), TOKEN)
    done = 0
    for at in _places(low, "cookie"):
        if at >= done and (match := _COOKIE.match(text, at)):
            done = match.end()
            for crumb in _CRUMB.finditer(text, *match.span(1)):
                if _is_random(crumb[1]):
                    yield Found(*crumb.span(1), TOKEN)
    for word in ("sig=", "signature="):
        for at in _places(low, word):
            if at and text[at - 1] in "?&;-" and (match := _SIGNED.match(text, at)):
                yield Found(*match.span(1), SIGNATURE)


def _is_pair(data: str) -> bool:
    """Whether base64 holds a user and a password."""
    value = _bytes(data)
    return value is not None and b":" in value[1:-1] and all(32 <= byte < 127 for byte in value)


# Options of commands that only take a password.

_ARGUMENT = r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{3,256})(?P=quote)|(?P<bare>(?!\[masked: )[^\s\"'$<>;|&]{3,256}))"
_COMMANDS = (
    ("sshpass", re.compile(rf"sshpass\s{{1,4}}-p\s{{0,4}}{_ARGUMENT}")),
    ("mysql", re.compile(rf"mysql\w{{0,8}}(?:\s{{1,4}}(?!-p)[^\s;|&]{{1,64}}){{0,8}}\s{{1,4}}-p{_ARGUMENT}")),
)


def _in_commands(text: str, low: str) -> Iterator[Found]:
    for word, pattern in _COMMANDS:
        for at in _places(low, word):
            if match := pattern.match(text, at):
                name = "quoted" if match["quoted"] else "bare"
                if not _is_placeholder(match[name]) and not _SAMPLE.fullmatch(match[name]):
                    yield Found(*match.span(name), PASSWORD)


# Base64 of a text.

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/]{20,65536}={0,2}(?![A-Za-z0-9+/_=-])")
_SOME = 32


def _encoded(text: str) -> Iterator[Found]:
    for run in _BASE64.finditer(text):
        if _is_text(run[0][:_SOME]) and (inner := _decoded_text(run[0])) and (found := next(_plain(inner), None)):
            yield Found(*run.span(), found.kind)


def _is_text(data: str) -> bool:
    """Whether the beginning of base64 holds letters and lines, as hardly any other data does."""
    value = _bytes(data[: len(data) // 4 * 4])
    return value is not None and not any(byte < 9 or 13 < byte < 32 or byte == 127 for byte in value)


def _decoded_text(data: str) -> str:
    value = _bytes(data)
    try:
        return value.decode() if value else ""
    except UnicodeDecodeError:
        return ""


def _bytes(data: str) -> bytes | None:
    try:
        return b64decode(data + "=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


# Values behind a name.

_WORDS = (
    ("password", PASSWORD),
    ("passwd", PASSWORD),
    ("passphrase", PASSWORD),
    ("passwort", PASSWORD),
    ("kennwort", PASSWORD),
    ("contraseña", PASSWORD),
    ("пароль", PASSWORD),
    ("密码", PASSWORD),
    ("密碼", PASSWORD),
    ("パスワード", PASSWORD),
    ("비밀번호", PASSWORD),
    ("pwd", PASSWORD),
    ("pass", PASSWORD),
    ("auth", PASSWORD),
    ("secret", SECRET),
    ("credential", SECRET),
    ("credentials", SECRET),
    ("token", TOKEN),
    ("key", KEY),
)
_OF_A_KEY = re.compile(
    r"(?:api|access|account|auth|secret|private|encryption|signing|master|shared|storage|subscription|webhook|service"
    r"|app|admin|license|client|session)[ _.-]?\Z"
)
_NO_TOKEN = re.compile(
    r"(?:page|next|prev|previous|continuation|sync|resume|cursor|eos|bos|pad|unk|sep|cls|mask|stop|special|end|start"
    r"|new|last|first|per|each|max|min|prompt|output|input)[ _-]?\Z"
)
_NAME_BEFORE = re.compile(r"[\w.-]{0,63}\Z", re.ASCII)
_BEHIND = re.compile(
    r"(?:[_-]?(?:[0-9]{1,3}|prod|production|dev|test|staging|live|value|plain|old|new))?(?P<close>\\{0,4}[\"'`]|&quot;|&#3[49];)?"
    r"(?:\[[0-9]{0,4}\]|\])?"
    r"(?P<by>\s{0,8}(?::\s{0,4}[A-Za-z]\w{0,20}\s{0,4}=|:=|=>|={1,3}|!==?|[:：](?!:)|,|\(|>)\s{0,8}(?:\n\s{1,40})?"
    r"|(?:\s{1,4}(?:is|was|are)|是|は|为|為)[ \t]{0,4}:?[ \t]{0,4}|\s{1,8})",
    re.ASCII,
)
_OPEN = re.compile(r"[bBrRuUfF@$]{0,2}(\\{0,4}[\"'`]|&quot;|&#3[49];)")
_BARE = re.compile(r"[^\s\"'`<>]{1,256}")
_HEAD = re.compile(r"[^\s\"'`<>,;&(){}\[\]|\\，。；]{1,256}")
_ENDED = re.compile(r"\Z|\s|[\"'`<>)\]}]|[,;&|，。；](?:\Z|\s|[\w.-]{1,40}=|[\"'`)\]}])|\\+[nrtu\"'`]")
_LOGIN = re.compile(r"login\s+\S{1,50}\s+\Z")  # a line of .netrc
_SAID = ("is", "was", "are", "是", "は", "为", "為")


def _named(text: str, low: str) -> Iterator[Found]:
    for word, kind in _WORDS:
        for at in _places(low, word):
            if not _says_credential(word, low[max(0, at - _LOOK_BACK) : at]):
                continue
            behind = _BEHIND.match(text, at + len(word))
            found = _value(text, at, behind, kind) if behind else None
            if found and (word != "auth" or _is_pair(text[found.start : found.stop])):
                yield found


def _says_credential(word: str, before: str) -> bool:
    """Whether a name that ends in this word, after what stands before it, is the name of a credential."""
    match word:
        case "key":
            return _OF_A_KEY.search(before) is not None
        case "token":
            return _NO_TOKEN.search(before) is None
        case "pass" | "pwd" | "auth":
            return not before[-1:].isalpha() or before[-2:] in ("db", "pg") or before[-4:] in ("user", "root", "smtp")
        case _:
            return True


def _value(text: str, at: int, behind: re.Match[str], kind: str) -> Found | None:
    """The credential that stands behind a name, if it is one."""
    by, start = behind["by"].strip(), behind.end()
    before = text[max(0, at - _LOOK_BACK) : at]
    found_name = _NAME_BEFORE.search(before)
    prefix = found_name[0] if found_name else ""
    name = prefix + text[at : behind.start("by")].strip("\"'`\\[]")
    if opened := _OPEN.match(text, start):
        if (by == "," and not behind["close"]) or (not by and (opened[1] == "`" or not name.isupper())):
            return None
        stop = _closing(text, opened.end(), opened[1])
        value = text[opened.end() : stop] if stop >= 0 else ""
        if by == "," and not any(not (letter.isalpha() or letter in " _-") for letter in value):
            return None  # one of a list of words
        is_one = _is_quoted_secret(value, kind, is_variable=name.isupper())
        return Found(opened.end(), stop, kind) if is_one else None
    is_login = not by and kind is PASSWORD and _LOGIN.search(before) is not None
    if by in (",", "(") or (not by and not prefix.startswith("--") and not is_login):
        return None
    is_loose = is_login or (name.isupper() and behind["by"] == "=")
    stop = _end_of_bare(text, start, is_loose=is_loose, is_sentence=by in (*_SAID, ":", "："))
    value = text[start:stop]
    if behind["close"] and by == ":" and value.isdigit():
        return None  # a number of JSON has to stay one
    is_one = _is_bare_secret(value, kind, is_loose=is_loose, is_prose=by in _SAID)
    return Found(start, stop, kind) if is_one else None


def _closing(text: str, start: int, quote: str) -> int:
    """Where a quoted value ends; -1 where it does not in this line."""
    stop = text.find(quote, start, start + _LONGEST)
    while len(quote) == 1 and stop > start and _is_escaped(text, stop):
        stop = text.find(quote, stop + 1, start + _LONGEST)
    return -1 if stop < 0 or text.find("\n", start, stop) >= 0 else stop


def _is_escaped(text: str, at: int) -> bool:
    slashes = 0
    while slashes < 8 and text[at - 1 - slashes] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _end_of_bare(text: str, start: int, *, is_loose: bool, is_sentence: bool) -> int:
    """Where a value without quotes ends; `start` where none begins."""
    head = _HEAD.match(text, start)
    if head is None:
        return start
    stop = head.end()
    if not _ENDED.match(text, stop):
        bare = _BARE.match(text, start)
        if bare is None or (text[stop : stop + 1] in ("(", "[", "{") and not is_loose):
            return start
        stop = bare.end()
    return start + len(text[start:stop].rstrip(".,;:!?…。")) if is_sentence else stop


# What a value has to look like.

_PLACEHOLDER = re.compile(
    r"\[masked: |[$%]|<|\{|:?\*{2,}|x{4,}|\.{2,}|…|_{3,}|your|my[-_]|change|replace|insert|enter|example|sample"
    r"|placeholder|dummy|redacted|hidden|secret[-_]?here|null\Z|none\Z|nil\Z|true\Z|false\Z|undefined\Z|todo|tbd\Z"
    r"|env[.(:]|process\.|os\.|self\.|this\.|args\.|config\.|settings\.|vault:|arn:|ref[+:]|op://|file:",
    re.IGNORECASE,
)
_SAMPLE = re.compile(
    r"pass(?:word|wd)?|secret|token|pwd|user(?:name)?|string|text|required|optional|(?:en|dis)abled|hidden|visible"
    r"|invalid|missing|wrong|incorrect|expired|empty|unknown|default|basic|bearer|number|boolean|object|array|value"
    r"|field|input|label|title|test|admin",
    re.IGNORECASE,
)
_WORD = re.compile(r"pass(?:word|wd|phrase)?|pwd|secret|token|credential|key\b|key_", re.IGNORECASE)
_CHAIN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[.;]?", re.ASCII)
_PATH = re.compile(r"[A-Za-z]:\\|~?/|\.{1,2}/|(?:[\w.@-]+/)+[\w@-]+\.[a-z]{1,5}\Z|[a-z][a-z0-9+]{1,10}://", re.ASCII)
_VERSION = re.compile(r"[v^~>=<]*[0-9]+(?:\.[0-9]+){1,3}[\w.+-]{0,16}", re.ASCII)
_LETTERS = re.compile(r"\[[^\]]{0,64}(?:a-z|A-Z|0-9)")  # a set of letters in a pattern
_RUN = re.compile(r"[A-Za-z0-9+/]{12,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_JOINTS = re.compile(r"[_. -]")


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.match(value) is not None or "${" in value or "{{" in value or "[masked: " in value


def _is_random(value: str) -> bool:
    """Whether a value has a long run of letters and digits in it, as no name and no path has."""
    if len(value) < 16 or _is_placeholder(value) or _PATH.match(value):
        return False
    return _UUID.fullmatch(value) is not None or any(map(_is_mixed, _RUN.findall(value)))


def _is_mixed(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    letters = "".join(filter(str.isalpha, text))
    if not digits or not letters:
        return False
    # Letters of one case and one or two digits are a word with a number.
    return digits >= 3 or not (letters.islower() or letters.isupper())


def _is_something_else(value: str) -> bool:
    if len(value) < 4 or _is_placeholder(value) or _SAMPLE.fullmatch(value) or _CHAIN.fullmatch(value):
        return True
    if _LETTERS.search(value):
        return True
    return bool(_PATH.match(value) or _VERSION.fullmatch(value)) or "](" in value


def _is_quoted_secret(value: str, kind: str, *, is_variable: bool) -> bool:
    if _is_something_else(value):
        return False
    has_digit = any(map(str.isdigit, value))
    if kind is PASSWORD and is_variable:
        return not (value.isalpha() and _WORD.search(value))
    if any(map(str.isspace, value)):
        return False
    if kind is PASSWORD:
        if _JOINTS.sub("", value).isalpha():
            return len(value) >= 6 and value.isalpha() and not _WORD.search(value)
        return has_digit or not (_WORD.search(value) and _IDENTIFIER.fullmatch(value))
    if _is_random(value):
        return True
    if is_variable and kind in (SECRET, KEY):
        return len(value) >= 8 and has_digit and not value.isdigit()
    return len(value) >= 12 and has_digit and any(letter in "!@#$%^&*+=~" for letter in value)


def _is_bare_secret(value: str, kind: str, *, is_loose: bool, is_prose: bool) -> bool:
    if _is_something_else(value):
        return False
    has_digit = any(map(str.isdigit, value))
    has_word = _WORD.search(value) is not None
    if kind is PASSWORD:
        if is_loose:
            return has_digit or not (has_word and _IDENTIFIER.fullmatch(value))
        if len(value) < 6 or has_word:
            return False
        if value.isdigit():
            return not is_prose
        has_mark = any(not letter.isalnum() and letter not in "_-./:" for letter in value)
        return any(map(str.isalpha, value)) and (has_digit or (has_mark and not is_prose))
    if is_loose and kind in (SECRET, KEY) and len(value) >= 8 and has_digit and not value.isdigit() and not has_word:
        return True
    return _is_random(value)
