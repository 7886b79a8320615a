"""What a sentence is about: the stems of its words, those aside that only bind, ask or hold it together.

Stems are cut, not looked up: the endings of a few European languages fall off and six letters remain, which is enough
to know "covered" and "coverage" for the same. Of scripts without blanks every two letters that follow each other are a
stem.
"""

from __future__ import annotations

import re

from compactor.core.retained import wording

_ENGLISH = """
    hands hand feel free ours everywhere everyone final word sorry team kind turns left taken says say per a an
    the anything something this that these those it its i me my we our us you your they them their he she his
    her of in on at to for from by with as and or but so if then than into about above any all each every
    everything some no not never always only just also too very more most less least please do does did don dont
    don't is are was were be been being have has had having will would shall should can could may might must
    need needs like want wants let lets let's get gets got go goes going use uses using used make makes made
    keep keeps kept put said tell write writes writing set give gives stay stays remain take takes work works
    now instead actually again here there where when whenever while until till before after over under up down
    out off one ones same other another new old last first right well okay ok fine good great sure yes yeah
    thanks switch change changed changing moved move mind thought second rule rules instruction instructions
    earlier previous forget ignore scratch scrap drop allowed allow mean meant because since though still yet
    even such own both what which who whom how why whatever touch edit edits editing modify modifying prefer
    prefers rather would'd i'd i'm it's that's we're we've i've you're they're long longer limit maximum minimum
    max min exactly around way thing things today decided settled decide agree agreed call called fond better
    add colour colours color colors language format date dates day name number time adding between through
    throughout without won't doesn't isn't aren't can't cannot shouldn't mustn't no-one nobody nothing
"""
_OTHERS = """
    puedes puede peut peux kann kannst darf darfst soll можешь haben habe hat sich bis zum zur zeit vom weg
    besoin plus maintenant plu mainte haut fait ya pásate base está son aus nach schon noch dann wenn bei так
    уже как что это мне мы der die das den dem des ein eine einen einem und oder nicht bitte immer nie niemals
    nur auf mit von für zu ab jetzt sofort doch lieber ist sind wird werden ich du wir sie mich mir verwende
    benutze nimm nutze el la los las un una de en y o que por para con siempre nunca solo sólo usa usar mejor
    ahora adelante partir favor no me te se le les une et ou à au aux pour par avec toujours jamais ne pas
    utilise utilisez désormais finalement plutôt je tu и в на с не все всегда никогда только теперь лучше
    используй пиши
"""
_STOPWORDS = frozenset((*_ENGLISH.split(), *_OTHERS.split()))
_STOPSTEMS = frozenset(("work", "writ", "keep", "us", "prefer", "chang", "mak", "go", "switch"))
_SAME = {
    "answ": ("respon", "reply", "repl", "repond", "répond", "répons", "respue", "antwor", "contes", "отвеча"),
    "summar": ("sum", "resum", "résumé"),
    "sign": ("sign-o", "signof", "signs", "approv", "approve", "sign-off"),
    "deadli": ("due", "deadlin", "extens", "termin", "frist", "plazo", "délai"),
    "budget": ("afford", "spend", "cost", "costs", "ceil", "presup"),
    "depend": ("packag",),
    "push": ("pushin",),
}
_STEM = {stem: first for first, stems in _SAME.items() for stem in stems}

_ENDINGS = re.compile(r"(?:ations?|ages?|ings?|ments?|ness|edly|ers?|ies|y|ed|es|s|e|ly)$")
_WORD = re.compile(r"[a-zà-ÿа-яё][\w'-]+|[぀-ヿ一-鿿가-힣]+")
_EASTERN = "\u3040"
_EASTERN_CUES = wording.any_of(r"""
    从现在(?:起|开始)?
    以后|现在|请|必须|不要|可以|修改|改|动|不能|一律|始终|总是|改用|改成|使用|用|了|都|的|再
    これから(?:は)?
    ました|ません|ます|です|常に|必ず|いつも|てもいいです|ないでください|てください|ください|して|しない
    で|は|を|に|が|の|이제부터|지금부터|앞으로|항상|절대|반드시|하지|마세요|마|해도|돼|해|줘|로|으로|을
    를|은|는|에|세요|주
""")


def topics(text: str) -> frozenset[str]:
    """The stems in a text that is in lower case.

    >>> sorted(topics("never touch the config folders"))
    ['config', 'fold']
    """
    found: set[str] = set()
    for word in _WORD.findall(text):
        if word[0] >= _EASTERN:
            for run in _EASTERN_CUES.sub(" ", word).split():
                found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif word not in _STOPWORDS and len(word) > 2:
            found.add(stem(word))
    return frozenset(found - _STOPSTEMS)


def stem(word: str) -> str:
    """The beginning of a word that its forms share."""
    bare = _ENDINGS.sub("", word) if len(word) > 3 else word.rstrip("s")
    cut = (bare if len(bare) > 2 else word)[:6]
    return _STEM.get(cut, _STEM.get(word, cut))
