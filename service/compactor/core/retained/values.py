"""The values in a sentence, each with its family: of a family one value holds at a time for one matter.

"Answer in French" and "switch to English" name two values of the family of languages, so that the second can take the
place of the first; "at most 100 words" and "60 words are enough" are quantities of one unit. There are families of
words, listed below, and families of shape: dates, amounts, versions, paths, hosts, ids, names. What is left of the
sentence without its values says what the matter is (`matters`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from compactor.core.retained import wording

# A line is a family, `/` parts its values, `=` the spellings of one value.
_FAMILIES = """
language: english=anglais=inglés=englisch=английском=английский=英文=英语=英語=영어=영문=in english
  / french=français=francés=französisch=французском=法语=法文=フランス語=프랑스어
  / german=allemand=alemán=deutsch=немецком=德语=德文=ドイツ語=독일어
  / spanish=espagnol=español=spanisch=испанском=西班牙语=スペイン語=스페인어
  / italian=italien=italiano=italienisch / portuguese=portugais=portugués=portugiesisch / dutch / polish
  / russian=russe=ruso=russisch=русском=русский=по-русски=俄语=ロシア語=러시아어
  / chinese=chinois=chino=chinesisch=китайском=中文=汉语=中国語=중국어
  / japanese=日语=日文=日本語=일본어=japonais=japonés=japanisch
  / korean=韩语=韓国語=한국어=한글=coréen=coreano=koreanisch / ukrainian / turkish / arabic / hindi / swedish
  / danish
spelling: british english=british spelling=british
  / american english=american spelling=us english=us spelling=american / australian english / canadian english
indentation: tabs=tab=tabulators=tabulations=tabuladores=tabulatoren=табы=табами=табуляцию=制表符=タブ=탭
  / spaces=space=espaces=espacios=leerzeichen=пробелы=пробелами=空格=スペース=스페이스
quotes: single quotes=single-quoted / double quotes=double-quoted
units: metric units=metric / imperial units=imperial
clock: utc=gmt / local time / cet / pst
package manager: npm / pnpm / yarn / bun / pip / uv / poetry / conda / pipenv / pdm
test library: pytest / unittest / jest / vitest / mocha / jasmine / junit / testng / nose / cypress
  / playwright / selenium
database: postgresql=postgres / mysql / mariadb / sqlite / mongodb=mongo / redis / oracle / dynamodb / duckdb
  / cassandra
currency: dollars=usd / euros=eur / pounds=gbp / yen=jpy / francs=chf
picture: png / svg / jpeg=jpg / pdf / gif / webp
form: json / yaml / xml / toml / csv / html / markdown / prose=full sentences=running text=paragraphs
  / bullet points=bullet point=bullets=bullet list=points=箇条書き / table=tables=表格=表=표 / plain text
  / numbered list
length: short=shorter=brief=concise=terse=kurz=breve=breves=court=courtes=кратко=коротко=简短=簡潔=짧게
  / long=longer=detailed=verbose=lengthy=in depth=ausführlich=detalladas=détaillées=подробно=详细=詳しく=자세히
tone: formal=formally=formell=serious=businesslike / casual=informal=relaxed=chatty=locker / friendly=warm
  / playful=funny
address: duzen=du-form=tutoie=tutoyer=tutear / siezen=sie-form=vouvoie=vouvoyer=usted
case: snake_case=snake case / camelcase=camel case / kebab-case=kebab case / pascalcase=pascal case
  / upper case=uppercase / lower case=lowercase
code: python / typescript / javascript / golang=in go=go code=go files=go modules / rust / java / kotlin
  / ruby / swift / php / c++ / c# / scala / elixir / bash
environment: staging / production=prod / development=dev / test environment / localhost
colour: red / blue / green / yellow / orange / purple / black / white / grey=gray / pink
mode: dark mode=dark theme=dark / light mode=light theme=light
framework: react / vue / angular / svelte / solid / next.js=nextjs / django / flask / fastapi / express
  / rails / spring
cloud: aws / gcp=google cloud / azure
merge: squash=squashing / rebase=rebasing / merge commit=merge commits / fast-forward
speed: fast=quickly / slow=slowly
"""
ANY_NUMBER = "number"
"""The family of numbers without a unit; those with one have a family each, whose name goes on behind this one."""

SCOPES = frozenset(("code", "environment"))
"""Families that say where something holds rather than what: where they differ, and another differs too, both stand."""

_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TENS = "twenty 20 thirty 30 forty 40 fifty 50 sixty 60 ninety 90 fifteen 15 hundred 100 thousand 1000"
_NUMBERS = {word: str(number) for number, word in enumerate(_ONES.split())}
_NUMBERS |= dict(zip(_TENS.split()[::2], _TENS.split()[1::2], strict=True))

_SIZES = "kb mb gb tb kib mib gib bytes megabytes gigabytes kilobytes"
_TIMES = "ms s sec secs second seconds min mins minute minutes h hour hours"
_OF_TEXT = """
    line lines word words character characters chars columns sentences paragraphs points bullets items pages days weeks
    months years times people retries
"""
_NO_UNITS = """
    instead now and or per please from at to in of on for is as then max each a the after all by if but was since until
    before so not
"""
_SIZE_UNITS, _TIME_UNITS = frozenset(_SIZES.split()), frozenset(_TIMES.split())
_PLAIN_UNITS = frozenset(_OF_TEXT.split()) | _SIZE_UNITS | _TIME_UNITS
_WORDS_BEHIND = frozenset(_NO_UNITS.split())

_DAYS = r"""
    mon(?:day)?s?|tue(?:s|sday)?s?|wed(?:nesday)?s?|thu(?:rs|rsday)?s?|fri(?:day)?s?|saturdays?|sundays?|weekends?
    montags?|dienstags?|mittwochs?|donnerstags?|freitags?|lundi|mardi|mercredi|jeudi|vendredi|lunes|martes|miércoles
    jueves|viernes|понедельник\w*|вторник\w*|сред[ауы]|четверг\w*|пятниц\w*
"""
_MONTHS = r"""
    jan(?:uary|uar)?|feb(?:ruary|ruar)?|march|mar|märz|april|apr|may(?= \d)|june|juni?|july|juli?|aug(?:ust)?
    sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto
    septiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre
    décembre
"""
_DAY, _MONTH = wording.any_of(_DAYS).pattern, wording.any_of(_MONTHS).pattern
_SHAPES = {
    "path": r"""
        [a-z]{2,8}://\S+
        (?<![\w.])[~.]{0,2}/?[\w.@<>*-]+(?:/[\w.@<>*-]*)+
        (?<![\w.])[\w-]+\.(?:py|go|tsx?|jsx?|json|md|txt|sh|ya?ml|toml|rs|java|kt|rb|php|sql|proto|csv|xml|html|css|ini
            |cfg|parquet)\b
    """,
    "date": rf"""
        \b\d{{4}}-\d{{2}}-\d{{2}}\b
        \b(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?)?\b(?:{_MONTH})\b\.?(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?
        \b(?:{_DAY})\b
        \b\d{{1,2}}(?:st|nd|rd|th)\b
        \b(?:tomorrow|tonight|morgen|mañana|demain|завтра)\b
        \b(?:end of (?:the )?(?:day|week|month|quarter|year)|next (?:week|month|sprint))\b
        \b\d{{1,2}}(?::\d{{2}})? ?(?:am|pm)\b|\b\d{{1,2}}:\d{{2}}\b
        \d{{1,2}}月(?:\d{{1,2}}日)?|\d{{1,2}}월(?: ?\d{{1,2}}일)?|(?:周|星期|下周)[一二三四五六日]|[月火水木金土日]曜日?
        [월화수목금토일]요일
    """,
    "money": r"""
        [$€£¥]\s?\d[\d.,]*\s?[km]?\b
        \b\d[\d.,]*\s?(?:[$€£¥]|(?:euros?|dollars?|usd|eur|gbp|pounds|francs|yen|rubles|рубл\w+)\b|元|円|원)
    """,
    "percent": r"\b\d[\d.,]*\s?(?:%|per ?cent\b)",
    "host": r"""
        (?<![\w.@-])(?:[a-z0-9-]+\.)+(?:internal|local|lan|com|net|org|io|dev|example|test|de|eu)\b
        \b\d{1,3}(?:\.\d{1,3}){3}\b
    """,
    "hash": r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
    "id": r"""
        \b[a-z]+[-_](?=[\w-]*\d)[\w-]+\b
        \b[a-z][a-z0-9]*_\w+\b
        \b(?=\w{5})[a-z]+\d\w*\b
    """,
    "version": r"\bv?\d+(?:\.\d+){1,3}(?:-[\w.]+)?\b(?!\s?(?:ms|s|mb|gb|%)\b)",
    "number": rf"(?<![\w.])(?:\d[\d,_]*(?:\.\d+)?|(?:{'|'.join(word for word in _NUMBERS if word != 'one')})\b)",
}
_SHAPE = re.compile(
    "|".join(f"(?P<{family}>{wording.any_of(patterns).pattern})" for family, patterns in _SHAPES.items())
    + r"(?:[ -]?(?P<unit>[a-zäöüß]+))?"
)
_CALENDAR = re.compile(rf"{_DAY}|{_MONTH}|may")
_NO_LENGTH = re.compile(r"\b(?:no|any|how|as) long(?:er)?\b")  # of time, not of texts
_NOTE = re.compile(r"\[[^\]\n]{1,80}\]")  # a mask, or what was left out: nobody's words
_PERSON = re.compile(
    r"(?<![.!?:] )(?<!^)\b[A-Z][a-zà-ÿ]{2,}(?:[ -][A-Z][a-zà-ÿ]+)*\b|\b[A-Z][a-zà-ÿ]+ [A-Z][a-zà-ÿ]{2,}\b"
)
_GERMAN = re.compile(
    r"\b(?:[Dd](?:er|ie|as|em|en)|vom|zum|und|nicht|bitte|wir|ich|ist|eine?|auf|mit|immer|nie|niemals|niemand|alle|keine?"
    r"|verwende|benutze|nimm)\b"
)
_NO_NAMES = """
    Please Also But And The This That Never Always Don Not Only Use Keep Make You When Then For With From Let Markdown
"""
_FIRST_WORDS = frozenset(_NO_NAMES.split())


class Values(NamedTuple):
    """The values of a sentence by family, and what is left of it, in lower case, without them."""

    by_family: dict[str, frozenset[str]]
    rest: str


@lru_cache(maxsize=1 << 10)
def find(sentence: str) -> Values:
    """The values in a sentence.

    >>> find("Answer in French, at most 60 words.").by_family["language"]
    frozenset({'french'})
    """
    found: dict[str, set[str]] = {}
    sentence = _without_names(_NOTE.sub(" ", sentence), found)

    def take(match: re.Match[str]) -> str:
        family, value = _of_shape(match)
        found.setdefault(family, set()).add(value)
        unit = match["unit"]
        return f" {unit} " if unit and unit not in _PLAIN_UNITS else " "

    rest = _SHAPE.sub(take, _NO_LENGTH.sub(" ", sentence.lower()))

    def take_word(match: re.Match[str]) -> str:
        family, value = _WORDS[match[0]]
        found.setdefault(family, set()).add(value)
        return " "

    rest = _WORD.sub(take_word, rest)
    return Values({family: frozenset(values) for family, values in found.items()}, rest)


def _without_names(sentence: str, found: dict[str, set[str]]) -> str:
    """The sentence without the names of people and products, which are added to what was found."""
    if sentence[1:].islower() or _GERMAN.search(sentence):
        return sentence

    def take(match: re.Match[str]) -> str:
        name = match[0]
        low = name.lower()
        is_known = _CALENDAR.fullmatch(low) or _WORD.search(low) or _SHAPE.fullmatch(low)
        if is_known or not _FIRST_WORDS.isdisjoint(name.split()):
            return name
        found.setdefault("name", set()).add(low)
        return " "

    return _PERSON.sub(take, sentence)


def _of_shape(match: re.Match[str]) -> tuple[str, str]:
    family = match.lastgroup or ""
    if family != "unit" and family != "number":
        return family, " ".join(match[family].split()).rstrip(".:,;")
    number = _NUMBERS.get(match["number"], match["number"].replace(",", "").replace("_", ""))
    unit = match["unit"] or ""
    if unit in _WORDS_BEHIND:
        return ANY_NUMBER, number
    if unit in _SIZE_UNITS:
        return "size", f"{number} {unit}"
    if unit in _TIME_UNITS:
        return "time", f"{number} {unit}"
    return (f"number of {unit[:5].rstrip('s')}" if unit else ANY_NUMBER), number


def _words() -> dict[str, tuple[str, str]]:
    known: dict[str, tuple[str, str]] = {}
    for line in _FAMILIES.strip().replace("\n  ", " ").splitlines():
        family, _, values = line.partition(": ")
        for value in values.split(" / "):
            spellings = [spelling.strip() for spelling in value.split("=")]
            known |= dict.fromkeys(spellings, (family, spellings[0]))
    return known


def _alternatives(words: dict[str, tuple[str, str]]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    latin = "|".join(re.escape(word) for word in longest_first if word[0] < "\u0e00")
    eastern = "|".join(re.escape(word) for word in longest_first if word[0] >= "\u0e00")
    return rf"(?<![\w-])(?:{latin})(?![\w-])|(?:{eastern})"


_WORDS = _words()
CHOICES = frozenset(family for family, _ in _WORDS.values())
"""The families of words."""
_WORD = re.compile(_alternatives(_WORDS))
