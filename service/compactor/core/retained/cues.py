"""The words that make a sentence binding, by language.

English is known best, down to which words before a cue make a description of it. Of the other languages there
are the plain cues of command, prohibition and permission. Everything is in lower case. `WORDS` holds at least one word
of every sentence that the patterns of the languages with blanks find, so that other sentences cost nothing.
"""

from __future__ import annotations

import re

_WORDS = """
    always never must mustn't mustn’t not don't don’t dont cannot can't can’t shouldn't shouldn’t should only prefer
    avoid ensure sure keep use stick remember instead rather without least most no shall whenever forbidden prohibited
    required allowed permitted permission mandatory important note rule rules constraint constraints requirement
    requirements guidelines conventions preferences format respond reply answer output forward may free every each
    feel treat assume limit leave let's let’s wouldn't wouldn’t under off-limits write refer call matter here
    siempre nunca jamás debes debe deben solo sólo únicamente prefiero asegúrate asegúrese evita evite mantén usa ahora
    prohibido obligatorio reglas restricciones
    immer nie niemals muss müssen musst darf darfst dürfen nur bitte jetzt nun sofort vermeide sicher verboten fall
    bevorzuge verwende kein keine keinen regeln vorgaben
    toujours jamais pas que doit doivent devez faut seulement uniquement préfère désormais maintenant évite évitez
    assure-toi assurez-vous interdit utilise utilisez règles contraintes
    всегда никогда нельзя должен должна должно должны обязательно только запрещено отныне впредь избегай избегайте
    используй используйте убедись убедитесь предпочитай не правила требования
"""
WORDS = frozenset(_WORDS.split())

# Who does not do something describes, who is told not to is bound: the word before decides.
NEGATION = re.compile(
    r"\b(?:do not|don['’]?t) "
    r"(?!have\b|know\b|think\b|see\b|understand\b|remember\b|mind\b|work\b|match\b|exist\b)"
)
_SOMEBODY = "i we they users it that which why who people these those tests files"
SOMEBODY = frozenset(_SOMEBODY.split())
ABSOLUTE = re.compile(r"\b(?:always|never)\b")
_DESCRIBING = "can would could has have had was is are were it i i've almost that which"
DESCRIBING = frozenset(_DESCRIBING.split())

ENGLISH = re.compile(
    r"\b(?:from now on|going forward|from here on|at all times|under no circumstances|no matter what"
    r"|(?:make|be) sure|ensure|must(?:n['’]t)?|shall not|feel free|no need to"
    r"|please (?:use|keep|avoid|only|stick|respond|reply|answer|write all|remember|don['’]?t)"
    r"|forbidden|prohibited|mandatory|not allowed|not permitted|(?:is|are) required|off-limits"
    r"|for the rest of (?:the|this|our)|every time|each time you|whenever"
    r"|you (?:may|cannot|can['’]t)|you can (?:always|freely|go ahead and)|you have (?:my )?permission"
    r"|without (?:asking|my|prior|chang|touch|break|modif)|remember (?:to|that)|stick (?:to|with)"
    r"|(?:respond|reply|answer|output|write) (?:only |everything )?(?:in|with|as)\b"
    r"|at most|no more than|no longer than|at least one|use [^.!?]{1,60} (?:instead|rather than)"
    r"|only (?:use|change|edit|touch|write|answer|reply|respond|return|output|give|show|run|make|work|commit|modify"
    r"|include|report|print|ask|install|call)\b"
    r"|should(?:n['’]t| not| never| always| only| at least| stay| remain| keep| all| match| follow| respect)\b"
    r"|(?:i|we) (?:do not|don['’]t|would not|wouldn['’]t|only) (?:want|like|accept)"
    r"|avoid\b|i(?:['’]d)? prefer\b)"
    r"|^(?:important|note|rule|rules|constraint|constraints|requirement|format|output format|permission)\s?[:-]"
    r"|^(?:(?:and|also|but|so|then|ok|okay|please|yes),? ){0,4}"
    r"(?:use|keep|prefer|avoid|stick|no|only|call me|refer to|limit|leave|treat|assume"
    r"|let['’]s (?:use|keep|avoid|make sure))\b"
)
QUESTION = re.compile(
    r"\b(?:can|could|would|will) (?:you|we) (?:please |also ){0,2}"
    r"(?:always|never|make sure|ensure|only|use|avoid|keep|stick|not)\b"
    r"|\bplease (?:always|never|make sure|ensure|don['’]?t|use|only)\b|\bfrom now on\b"
)
SPANISH = (
    r"siempre|nunca|jamás|no (?:uses|use|toques|cambies|borres|hagas|modifiques|olvides|debes)|deb(?:e|es|en)|s[oó]lo"
    r"|únicamente|prefiero|asegúr[ae]\w*|a partir de ahora|evit[ae]|mantén|prohibido|obligatorio|por favor,? us[ae]"
)
GERMAN = (
    r"immer|nie|niemals|muss|müssen|musst|darf(?:st)? (?:nicht|nur|kein)|dürfen (?:nicht|nur)|auf keinen fall"
    r"|bitte (?:nicht|nur|verwende|benutze|immer)|nur|ab (?:jetzt|sofort)|von nun an|vermeide|stelle? sicher|verboten"
    r"|bevorzuge|verwende|kein(?:e|en)? \w+ (?:verwenden|ändern|löschen)"
)
FRENCH = (
    r"toujours|jamais|doi(?:t|vent)|devez|il (?:ne )?faut|seulement|uniquement|préfère|désormais|à partir de maintenant"
    r"|évitez?|assure-toi|assurez-vous|interdit|n['’]\w+ (?:pas|jamais|que)|ne \w+ (?:pas|jamais)|utilisez?"
)
RUSSIAN = (
    r"всегда|никогда|нельзя|долж(?:ен|на|но|ны)|обязательно|только|запрещено|отныне|впредь|избегай(?:те)?"
    r"|используй(?:те)?|убеди(?:сь|тесь)|предпочитай"
    r"|не (?:надо|нужно|трогай|меняй|используй|удаляй|делай|забудь|забывай)\w*"
)
EUROPEAN = re.compile(rf"\b(?:{SPANISH}|{GERMAN}|{FRENCH}|{RUSSIAN})\b")
CHINESE = (
    "必须|不要|不能|不得|不准|不许|不可|禁止|请使用|请用|始终|总是|永远|只能|只用|务必|从现在开始|从现在起|今后|以后"
    "|切勿|请勿|避免|优先|确保|一律|不允许|别动|别改|必須|總是|務必|請勿|請使用"
)
KOREAN = "항상|절대|반드시|하지 ?마|지 ?말|금지|앞으로|꼭 |해야 |만 사용|사용하지|유지해|피해 ?주"
JAPANESE = (
    "必ず|常に|絶対|ないで|禁止|てはいけない|てはならない|てはいけません|のみ|だけを?使|今後|これから(?:は|ずっと)"
    "|使ってください|使用してください|避けて|優先して"
)
EASTERN = re.compile(f"{CHINESE}|{KOREAN}|{JAPANESE}")
EASTERN_SCRIPT = re.compile("[぀-ヿ一-鿿가-힣]")

LIST_HEAD = re.compile(
    r"(?:rules?|constraints?|requirements?|guidelines?|conventions?|preferences?|instructions|format|important|remember"
    r"|keep in mind|规则|要求|约束|注意|規則|ルール|制約|규칙|조건|reglas|restricciones|regeln|vorgaben|règles"
    r"|contraintes|правила|требования)\W{0,6}[:：]$"
)
