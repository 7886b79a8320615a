"""The user's standing instructions: sentences that bind the rest of the session, word for word.

Only what a person wrote counts: a tool's result cannot give instructions. A cue decides, not a grammar: it is better to
keep a sentence too many than to lose a prohibition, but a description ("I don't have the id") or a question is no
instruction. Cues are searched for in the words of the message first, so that messages without any cost next to nothing.
"""

from __future__ import annotations

import re

from compactor.core.retained import wording

LONGEST_SENTENCE = 600

# One of these is in every sentence that the patterns below find, those of the Far East apart: a test that costs nothing.
_CUE_WORDS = frozenset(
    """
    always never must mustn't mustn’t not don't don’t dont cannot can't can’t shouldn't shouldn’t should only prefer avoid
    ensure sure keep use stick remember instead rather without least most no shall whenever forbidden prohibited
    required allowed permitted permission mandatory important note rule rules constraint constraints requirement
    requirements guidelines conventions preferences format respond reply answer output forward may free every each
    feel treat assume limit leave let's let’s wouldn't wouldn’t under off-limits write refer call matter here
    siempre nunca jamás debes debe deben solo sólo únicamente prefiero asegúrate asegúrese evita evite mantén usa use
    ahora prohibido obligatorio reglas restricciones immer nie niemals muss müssen musst darf darfst dürfen nur bitte
    jetzt nun sofort vermeide sicher verboten fall bevorzuge verwende kein keine keinen regeln vorgaben toujours jamais
    pas que doit doivent devez faut seulement uniquement préfère désormais maintenant évite évitez assure-toi
    assurez-vous interdit utilise utilisez règles contraintes всегда никогда нельзя должен должна должно должны
    обязательно только запрещено отныне впредь избегай избегайте используй используйте убедись убедитесь предпочитай
    не правила требования
    """.split()
)

# Who does not do something describes, who is told not to is bound: the word before decides.
_NEGATION = re.compile(
    r"\b(?:do not|don['’]?t) (?!have\b|know\b|think\b|see\b|understand\b|remember\b|mind\b|work\b|match\b|exist\b)"
)
_SOMEBODY = frozenset("i we they users it that which why who people these those tests files".split())
_ABSOLUTE = re.compile(r"\b(?:always|never)\b")
_DESCRIBING = frozenset("can would could has have had was is are were it i i've almost that which".split())
_STRONG = re.compile(
    r"\b(?:from now on|going forward|from here on|at all times|under no circumstances|no matter what"
    r"|(?:make|be) sure|ensure|please (?:use|keep|avoid|only|stick|respond|reply|answer|write all|remember|don['’]?t)"
    r"|must(?:n['’]t)?|shall not|forbidden|prohibited|mandatory|not allowed|not permitted|(?:is|are) required|off-limits"
    r"|for the rest of (?:the|this|our)|every time|each time you|whenever|you (?:may|cannot|can['’]t)|you can (?:always|freely|go ahead and)"
    r"|feel free|you have (?:my )?permission|no need to|without (?:asking|my|prior|chang|touch|break|modif)"
    r"|remember (?:to|that)|stick (?:to|with)|(?:respond|reply|answer|output|write) (?:only |everything )?(?:in|with|as)\b"
    r"|at most|no more than|no longer than|at least one|use [^.!?]{1,60} (?:instead|rather than))"
    r"|\b(?:i|we) (?:do not|don['’]t|would not|wouldn['’]t|only) (?:want|like|accept)"
    r"|\bonly (?:use|change|edit|touch|write|answer|reply|respond|return|output|give|show|run|make|work|commit|modify"
    r"|include|report|print|ask|install|call)\b|^only\b"
    r"|^(?:important|note|rule|rules|constraint|constraints|requirement|format|output format|permission)\s?[:-]"
)
_PLAIN = re.compile(
    r"\bshould(?:n['’]t| not| never| always| only| at least| stay| remain| keep| all| match| follow| respect)\b|\bavoid\b|\bi(?:['’]d)? prefer\b"
    r"|^(?:(?:and|also|but|so|then|ok|okay|please|yes),? )*(?:please )?"
    r"(?:use|keep|prefer|avoid|stick|no|call me|refer to|limit|leave|treat|assume|let['’]s (?:use|keep|avoid|make sure))\b"
)
_ASKED_TO = re.compile(
    r"\b(?:can|could|would|will) (?:you|we) (?:please |also )*(?:always|never|make sure|ensure|only|use|avoid|keep|stick|not)\b|\bplease (?:always|never|make sure|ensure|don['’]?t|use|only)\b|\bfrom now on\b"
)
_LATIN = re.compile(
    r"\b(?:siempre|nunca|jamás|no (?:uses|use|toques|cambies|borres|hagas|modifiques|olvides|debes)|deb(?:e|es|en)|s[oó]lo"
    r"|únicamente|prefiero|asegúr[ae]\w*|a partir de ahora|evit[ae]|mantén|prohibido|obligatorio|por favor,? us[ae]"
    r"|immer|nie|niemals|muss|müssen|musst|darf(?:st)? (?:nicht|nur|kein)|dürfen (?:nicht|nur)|bitte (?:nicht|nur|verwende|benutze|immer)"
    r"|nur|ab (?:jetzt|sofort)|von nun an|vermeide|stelle? sicher|verboten|auf keinen fall|bevorzuge|verwende|kein(?:e|en)? \w+ (?:verwenden|ändern|löschen)"
    r"|toujours|jamais|doi(?:t|vent)|devez|il (?:ne )?faut|seulement|uniquement|préfère|désormais|à partir de maintenant"
    r"|évitez?|assure-toi|assurez-vous|interdit|n['’]\w+ (?:pas|jamais|que)|ne \w+ (?:pas|jamais)|utilisez?"
    r"|всегда|никогда|нельзя|долж(?:ен|на|но|ны)|обязательно|только|запрещено|отныне|впредь|избегай(?:те)?|используй(?:те)?"
    r"|убеди(?:сь|тесь)|предпочитай|не (?:надо|нужно|трогай|меняй|используй|удаляй|делай|забудь|забывай)\w*)"
)
_EASTERN = re.compile(
    "必须|不要|不能|不得|不准|不许|不可|禁止|请使用|请用|始终|总是|永远|只能|只用|务必|从现在开始|从现在起|今后|以后|切勿|请勿|避免|优先|确保|一律|不允许|别动|别改"
    "|必須|總是|務必|請勿|請使用|항상|절대|반드시|하지 ?마|지 ?말|금지|앞으로|꼭 |해야 |만 사용|사용하지|유지해|피해 ?주|하세요만"
    "|必ず|常に|絶対|ないで|禁止|てはいけない|てはならない|てはいけません|のみ|だけを?使|今後|これから(?:は|ずっと)|使ってください|使用してください|避けて|優先して|べきで"
)
_EASTERN_SCRIPT = re.compile("[぀-ヿ一-鿿가-힣]")
_LIST_HEAD = re.compile(
    r"(?:rules?|constraints?|requirements?|guidelines?|conventions?|preferences?|instructions|output format|format|important"
    r"|remember|keep in mind|规则|要求|约束|注意|規則|ルール|制約|규칙|조건|reglas|restricciones|regeln|vorgaben|règles|contraintes|правила"
    r"|требования)\W{0,6}[:：]$"
)


def find(text: str) -> tuple[str, ...]:
    """The standing instructions in what the user says, in order, each once.

    >>> find("Fix the bug. Never push to main!")
    ('Never push to main!',)
    """
    eastern = not text.isascii() and bool(_EASTERN_SCRIPT.search(text))
    if _CUE_WORDS.isdisjoint(wording.words(text)) and not eastern and " now on" not in text:
        return ()
    found: dict[str, None] = {}
    in_list = False
    for sentence, listed in wording.sentences(text):
        low = sentence[:LONGEST_SENTENCE].lower()
        if low.endswith((":", "：")):
            in_list = bool(_LIST_HEAD.search(low))
            continue
        in_list = in_list and listed
        cued = eastern or " now on" in low or not _CUE_WORDS.isdisjoint(wording.words(low))
        if in_list or (cued and binds(low)):
            found[wording.shorten(sentence.strip(), LONGEST_SENTENCE)] = None
    return tuple(found)


def binds(sentence: str) -> bool:
    """Whether a sentence, in lower case, binds what comes after it."""
    if sentence.endswith(("?", "？")):
        return bool(_ASKED_TO.search(sentence))
    if _STRONG.search(sentence) or _PLAIN.search(sentence) or _LATIN.search(sentence):
        return True
    if _is_told(sentence, _ABSOLUTE, _DESCRIBING) or _is_told(sentence, _NEGATION, _SOMEBODY):
        return True
    return not sentence.isascii() and bool(_EASTERN.search(sentence))


def _is_told(sentence: str, cue: re.Pattern[str], subjects: frozenset[str]) -> bool:
    """Whether a cue stands in the sentence otherwise than right after one of the words that make it a description."""
    for match in cue.finditer(sentence):
        before = sentence[max(0, match.start() - 24) : match.start()].split()
        if not before or before[-1] not in subjects:
            return True
    return False


def merge(found: list[str]) -> tuple[str, ...]:
    """All instructions, oldest first; of those that say the same the latest stays, in its place."""
    latest: dict[str, str] = {}
    for instruction in found:
        key = " ".join(instruction.casefold().split()).rstrip(".!。！ ")
        latest.pop(key, None)
        latest[key] = instruction
    return tuple(latest.values())
