"""What makes an English sentence binding: patterns, each filed under the words that it cannot do without.

A sentence is cut into its words once; a pattern is tried only where one of its words is there, so that most sentences
cost a look into a dictionary. Everything is in lower case, with straight apostrophes. There are three strengths.

* A *strong* cue says by itself that something holds from now on: "from now on", "whenever you", "without asking".
* A *weak* one holds unless the sentence is about this moment only: "Don't commit" binds, "Don't commit yet" does not.
* A *loose* one may as well be part of a task, so it holds only where the sentence does not begin like a task: "At most
  eight lines" binds, "Write a poem of at most eight lines" does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Whom a cue is about, and where a clause begins.
_CLAUSE = r"(?:^|[,;:(] ?|[-–—] |\b(?:but|and|so|please|also|just|to|that) )"
_ALL = r"(?:every\w*|any\w*|all|each|nothing|nobody|no one|none|whatever|whoever)"
_TEXTS = (
    r"(?:answers?|replies|responses?|outputs?|explanations?|summar(?:y|ies)|comments?|code comments?|commits?|names?"
    r"|commit messages?|messages?|docs|docstrings?|documentation|tests?|dates?|numbers?|amounts?|texts?|titles?"
    r"|strings?|branches|branch names?|variables?|functions?|files|lines|columns|tables?|classes|headings?|tone|style"
    r"|units?)"
)


def _not_after(words: str) -> str:
    return "".join(rf"(?<!\b{word} )" for word in words.split())


# Who does not do something describes, who is told not to is bound: the word before decides.
_UNLESS_DESCRIBED = _not_after("i we they that which who you people tests files users it why these those them")
_UNLESS_TOLD = _not_after("i it has have had was is were i've can could would almost that which he she")
_ONLY_AFTER = (
    r"(?:use|change|edit|touch|write|answer|reply|respond|return|output|give|show|run|make|work|commit|modify|include"
    r"|print|ask|install|call|query|read|ever|speak|push|merge|deploy|add|consider|test|fix|look|suggest)"
)
_TOUCHING = (
    r"(?:touch|change|edit|use|install|delete|remove|skip|ignore|assume|break|modify|commit|push|merge|add|rename"
    r"|drop|go ahead|always|freely|ask|refactor|rewrite|update|upgrade|deploy|leave|decide|spend)"
)

_STRONG = (
    (
        "now here forward henceforth onwards future today",
        r"\bfrom (?:now|here|this point|today|here on|now on) (?:on(?:wards?)?|out)\b|\bfrom here on\b"
        r"|\bgoing forward\b|\bhenceforth\b|\bfrom today\b|(?:^|, |\b(?:please|and) )in (?:the )?future\b"
        r"|\bin future\b",
    ),
    (
        "times circumstances matter whatever rest throughout rule principle",
        r"\bat all times\b|\bcircumstances\b|\bno matter (?:what|how|who)\b|\bwhatever (?:you|happens|else)\b"
        r"|\bfor the (?:rest|remainder) of\b|\bthroughout\b(?! the (?:day|night|year|week))|\bas a (?:general )?rule\b"
        r"|\bin principle\b|\brule of thumb\b",
    ),
    (
        "until till unless",
        r"\b(?:until|till|unless) (?:i|we|you|the user|somebody|someone|my \w+) (?:\w+ )?(?:say|tell|ask|give|confirm"
        r"|hear|approve|agree|explicitly|are|instruct|allow|request)\w*|\b(?:until further|unless (?:told|asked"
        r"|otherwise|instructed|stated|necessary|needed|absolutely))\b",
    ),
    (
        "whenever wherever time anytime when if where once",
        r"\b(?:whenever|wherever|every time|each time|any ?time) (?:you|we)\b|\b(?:whenever|every time"
        r"|each time) [^,]+, (?:please )?(?!the\b|i\b|it\b|we\b|nothing\b|they\b|an?\b|my\b)|^(?:if|when|where"
        r"|once) (?:you (?!can\b|could\b|have time|want|like|look|click|run|open|see\b|think\b|know\b)|an? |any\w* "
        r"|some\w+ |there(?:'s| is) an? |in doubt)[^,]+, (?!i\b|it\b|the\b|does\b|do you\b|is\b|can\b|could\b|would\b"
        r"|we (?!should|must)|this\b|that\b|they\b)|\b(?:if|when) in doubt\b",
    ),
    (
        "before after per time",
        r"\b(?:before|after) (?:every|each|any)\b|\b(?:before|after) (?:commit|push|merg|deploy|releas|install|delet"
        r"|touch|chang|hand|start|open|writ|claim|say|answer|reply)\w*ing (?:any|some|code|to|it|things?)\b"
        r"|\bbefore you (?:\w+ ){1,3}(?:anything|something|any|an?|over|new ones|code)\b"
        r"|\bbefore (?:you )?commit(?:ting)?\b|\b(?:one|a|each|two|three|once) (?:\w+ )?(?:per|at a) (?:message"
        r"|answer|reply|turn|time|commit|file)\b",
    ),
    (
        "ok okay approval consent permission go-ahead confirmation sign-off say-so asking ask check confirm tell ping"
        " consult signs blessing know",
        r"\b(?:needs?|wants?|requires?|gets?|without|wait for|have|get) (?:my|our|his|her|their) (?:explicit "
        r"|prior )?(?:ok|okay|approval|consent|permission|go-ahead|confirmation|sign-off|say-so|blessing)\b"
        r"|\bwithout (?:asking|checking|my|our|telling|permission|approval)\b|\b(?:ask|check with|ping|tell|consult"
        r"|warn|let) (?:me |us |me know |us know )(?:first|before|when you)\b|\bask (?:first|before|rather than"
        r"|instead of)\b|\b(?:ask|check|confirm) (?:with me )?before\b|\bsigns? off\b|\bhave my permission\b"
        r"|\brun (?:it|that|this|them) by me\b",
    ),
    (
        "nothing nobody none no-one one",
        r"\b(?:nothing|nobody|no one|none of (?:it|them|the)|no [a-z-]+) (?:\w+ ){0,4}(?:may|must|should|shall|is to"
        r"|are to|gets?|goes|go|leaves|ever|is allowed|can be)\b|\bso nothing \w+ in\b",
    ),
    (
        "stay remain stays remains kept keep working",
        r"\b(?:must|has to|have to|needs? to|should|shall|is to|are to|got to) (?:\w+ )?(?:stay|remain|keep|be kept"
        r"|continue)\b|\b(?:stays?|remains?) (?:the way|as (?:it|they|is)|in (?:english|place)|under|below|above"
        r"|within|untouched|unchanged|local)\b",
    ),
    (
        "hands off-limits limits clear away alone stone untouchable untouched taboo nowhere frozen read-only",
        r"\bhands[- ]off\b|\boff[- ]limits\b|\bsteer clear\b|\b(?:stay|keep) (?:away|clear|out)\b|\bset in stone\b"
        r"|\b(?:is|are) (?:frozen|read-only|untouchable|taboo)\b|\bleave [^,;]+ (?:alone|untouched|as (?:it"
        r"|they) (?:is|are))\b|\bnowhere else\b|\b(?:stay|remain) (?:untouched|frozen)\b",
    ),
    (
        "forbidden prohibited mandatory allowed permitted required must-have musts taboo verboten compulsory"
        " obligatory",
        r"\b(?:is|are|be|it's|you're|strictly|absolutely) (?:strictly |absolutely |not |also |now "
        r"|always )*(?:forbidden|prohibited|mandatory|allowed|permitted|required|compulsory|obligatory)\b"
        r"|\b(?:forbidden|prohibited|mandatory)$",
    ),
    (
        "must mustn't",
        r"(?<!\bi )(?<!\bit )(?<!\bthat )(?<!\bthere )\bmust(?:n't)?\b(?! have (?:been|\w+ed)\b)(?!-have)"
        r"|\bit must (?:not|keep|stay|never|always|work|be possible)\b|\bis a must\b",
    ),
    (
        "important essential crucial vital matters critical",
        r"\b(?:it's|it is|is) (?:\w+ )?(?:important|essential|crucial|vital|critical) (?:to (?:me|us) |for (?:me|us) )?"
        r"(?:that|to)\b|\b(?:important|essential|crucial) to (?:me|us)\b|\bmatters? (?:a lot|most|to (?:me|us))\b",
    ),
    (
        "insists insist requires expects demands wants prefers demand expect wishes",
        r"\b(?:insists?|demands?|expects?) (?:on|that)\b|\b(?:team|boss|manager|client|customer|company|legal|policy"
        r"|auditors?|lead|owner|guide|editor|compliance|security|board) (?:requires?|wants?|prefers?|expects?"
        r"|needs?)\b",
    ),
    (
        "allergic vegetarian vegan colour-blind color-blind colorblind dyslexic coeliac celiac diabetic intolerant"
        " beginner novice halal kosher lactose pronouns left-handed deaf pescatarian",
        r"\b(?:allergic to|(?:lactose|gluten)[- ]intolerant|vegetarian|vegan|pescatarian|colou?r-?blind|dyslexic"
        r"|coeliac|celiac|diabetic|halal|kosher|left-handed|deaf)\b|\b(?:i'm|i am|as|like) (?:a"
        r"|an) (?:\w+ )?(?:beginner|novice)\b|\bmy pronouns\b",
    ),
    (
        "call name name's they refer known address",
        r"^call (?:me|it|them|us|her|him|this|that)\b|\bmy name(?:'s| is)\b|\bi go by\b|\brefer to\b[^.]* (?:as|by)\b"
        r"|\bwe call (?:it|them|this|that|these)\b|\baddress (?:me|us|the \w+) (?:as|by|with|in)\b",
    ),
    (
        "welcome free permission allowed fine okay ok wild",
        r"\b(?:you're|you are|feel|be) (?:\w+ )?(?:free|welcome|allowed|permitted|authori[sz]ed) to (?!ask\b|reach"
        r"|contact|let\b)|\bfeel free to (?!ask\b|reach|contact|let\b)|\b(?:you have|you've got|you've) (?:my "
        r"|our )?permission\b|\b(?:it's|it is|that's) (?:perfectly |totally |absolutely )?(?:fine|ok|okay"
        r"|all right) (?:to|if you|for you)\b",
    ),
    (
        "may",
        r"\byou may\b(?! (?:have|also have|notice|see|find|remember|recall|wonder|know|think|be (?!\w+ed)))",
    ),
    (
        "agree agreed settled decided convention conventions conventional guidelines",
        r"\blet's agree\b|\bwe(?:'ve| have)? (?:agreed|settled|decided) (?:on|to|that|for|against|upon)\b"
        r"|\b(?:our|the) (?:\w+ )?(?:convention|guidelines?|style guide|policy|rule)s? (?:is|are|says?|here|for)\b"
        r"|\bfollows? (?:the |our )?[\w .'-]*(?:conventions?|conventional|guidelines?|style|guide)\b",
    ),
    (
        "instead rather prefer preferred preference preferably like want",
        r"\bi(?:'d| would)? (?:much |strongly |really )?(?:prefer|rather)\b|\bwe(?:'d| would)? (?:much "
        r"|strongly )?prefer\b|\b(?:my|our) (?:preference|preferred|favou?rite)\b|\b(?:i|we)(?:'d| would)? (?:like"
        r"|want|love|need) (?:you to )?(?:\w+ )?(?:every|each|all|any|always|no\b|never|double-check|your (?:answers"
        r"|replies|responses))|\bi like (?:my|your) |\bi like [^,.]+ (?:better|more|best)\b",
    ),
    (
        "hate dislike stand fond",
        r"\bi (?:really )?(?:hate|dislike|can't stand|cannot stand|am fond of)\b(?! (?:it|that|this)\b)"
        r"|\bi'm (?:not )?fond of\b",
    ),
    (
        "stop quit refrain",
        r"(?:^|please |and )(?:stop|quit) (?:\w+ing\b(?! (?:the|that|this) \w+ing))|\brefrain from\b",
    ),
)

_WEAK = (
    (
        "not don't dont never",
        rf"{_UNLESS_DESCRIBED}"
        r"\b(?:do not"
        r"|don't|dont)(?: you)?(?: ever| even| just| please)? (?!have\b|know\b|think\b|see\b|understand\b|mind\b"
        r"|work\b|match\b|exist\b|worry\b|forget\b|remember\b|bother (?:with|about)\b|bother$|need\b|seem\b|get\b"
        r"|want\b|fit\b|pass\b|you\b|be (?:sorry|silly)\b|fix\b|panic\b|like\b)\w+|^(?:not|never) (?!bad\b|sure\b"
        r"|yet\b|now\b|really\b|quite\b|mind\b|the\b|that\b|this\b|a\b|working\b|had\b|in my\b)|\b(?:i|we) (?:don't"
        r"|do not|won't|wouldn't) (?:want|like|accept|use|allow|support|eat|need (?:you|any)|ship|deploy|tolerate"
        r"|take in|merge|commit|write|do)\b|^forget (?:about )?(?:what|the|my)\b|\byou (?:don't|do not) (?:need"
        r"|have) to\b",
    ),
    (
        "always never",
        rf"{_UNLESS_TOLD}"
        r"\b(?:always"
        r"|never)\b(?! (?:\w+ed|mind|got|had|was|were|knew|came|went|saw|ran|did|worked|thought|made|took"
        r"|said)\b(?! (?:to|by)\b))|\b(?:i|we|it|that|this|is|are) (?:always|never) (?:want|prefer|need|use|deploy"
        r"|push|merge|squash|run|write|ask|eat|commit|ship|touch|log|want|put|keep|test|pin|happens?|to)\b|\b(?:must"
        r"|should) (?:always|never)\b",
    ),
    (
        "cannot can't can shouldn't should couldn't",
        r"\byou (?:cannot|can't)\b(?! (?:see|imagine|believe|tell|find))"
        rf"|\byou can (?:also |now |only )?{_TOUCHING}\b(?! (?:see|it in))"
        r"|\byou can\b[^.]*\b(?:without|whatever|anything|freely|but (?:not|never|don't|only|keep|leave)|except"
        r"|unless)\b|\b(?:we|they) (?:cannot|can't) (?:have|use|take|ship|accept|upgrade|change|afford|break|rely"
        r"|touch|drop)\b|\b(?:cannot|can't|should not|shouldn't) be (?:changed|touched|edited|modified|broken|moved"
        r"|deleted|renamed)\b|(?<!\bit )(?<!\bthis )(?<!\bthat )(?<!\bi )(?<!\bwe )\bshould(?:n't| not| never| always"
        r"| only| at least| all)\b|\byou should (?!see\b|know\b|find\b|be able|get\b|have\b|notice\b)"
        rf"|^(?:the |our |your )?(?:{_TEXTS}|{_ALL})\b[^,]{{0,60}} should\b(?! be (?:updated|changed|renamed|removed"
        rf"|moved|fixed|added|same|the same))|\bshould (?:match|follow|respect|conform|use|only)\b(?! (?:here|now))",
    ),
    (
        "avoid prefer ensure sure remember mind treat consider pretend imagine assume act behave stick use keep stay"
        " work leave be limit skip reuse cite quote spell indent target wait hold explain talk speak address follow"
        " write format round express phrase respect mention mark reply respond answer return output put default run"
        " start end begin name wrap document log sign give pin speak",
        rf"{_CLAUSE}(?:avoid|prefer|treat|pretend|assume|stick|reuse|target|limit|respect|pin)\b(?! (?:that|this|it"
        rf"|format|behaviou?r|state)\b$)|^(?:consider (?:yourself|me|us|everything|all|the)|act (?:as|like)"
        rf"|behave (?:as|like)|imagine you)\b"
        r"|^(?:make|be) sure\b|^ensure\b|\b(?:make sure|ensure)\b[^.]*\b(?:every|all|any|always|never|no|nothing|each"
        r"|everything|everywhere)\b|\b(?:bear|keep) in mind\b|^remember\b(?!$| (?:when|the time|me\b|how))"
        r"|\bmind you\b|^use (?!it\b|them\b|this\b|that\b|these\b|those\b|the (?:second|first|third|other|same|latter"
        r"|former|last|next|one|right|new|old|left|upper)\b|option\b|your judg)(?!.* to (?:find|read|report|get|check"
        r"|see|look|search|list|fetch|create|run|fix|do|write|make|compute)\b)(?!.*\bfor (?:this|that|the (?:first"
        r"|next|last))\b)|\b(?:but|and|please|also) use (?!it\b|them\b|this\b|that\b|the \w+ (?:one|file|option)\b)"
        r"|^keep (?!going\b|trying\b|at it\b|working\b|looking\b|reading\b|up\b|me\b|calm\b)|\b(?:please|but|and"
        r"|so) keep\b|^(?:stay|remain) \w|^work (?:only |always )?(?:on|in|within|from|with) (?:the"
        r"|a)\b[^.]*\b(?:only|nowhere)\b|^leave (?!it\b|that\b|me\b)|^be (?!right\b|back\b|there\b|that\b|it\b"
        r"|sure$)\w+|^skip (?:the |all |any |every )?(?:pleasantr|intro|preamble|small|explan|greeting|boilerplate"
        r"|disclaimer|apolog|comment|summar|caveat|closing|filler|obvious|praise|compliment)\w*|^(?:cite|quote|spell"
        r"|indent|round|wrap|express|phrase|address|mark|document|sign|default)\b(?! (?:the \w+$|as\b|the (?:third"
        r"|second|first|last)|it$|this\b))|^(?:wait|hold off|hold back)\b(?!$| a (?:sec|min|mom)| what)"
        r"|^explain (?:things|everything|it all|your|each|every)\b|^(?:talk|speak) (?:to|in|like|as|about)\b"
        r"|^follow (?:the|our|my|pep|these|this|conventional)\b|^write (?:in|with|like|as|everything|all|every|only"
        r"|for|at|to)\b|\b(?:reply|respond|answer|format|write|return|output)\b(?: me| us| everything| all \w+| dates"
        r"| code| plain| numbers| questions| only| always| just| them)* (?:only |always |just )?(?:in|as|with|using"
        r"|like)\b(?! (?:the (?:next|following|first)|this|that|order|addition|case|mind|detail|your own|a (?:poem"
        r"|while|moment)))|^(?:return|output|reply|respond|answer) (?:only|just|plain|nothing|briefly|concisely"
        r"|short)\b|^put (?:the|all|every|any|new|your) [^,]{1,40} (?:first|last|under|in|into|at|before|after"
        r"|next)\b|^(?:run|give|show|start|end|begin|name|log|mention)\b[^.]*\b(?:one at a time|every (?:answer|reply"
        r"|response|message|file|commit)|always|each time|per (?:message|answer|reply)|the numbers|all)\b|^(?:name"
        r"|log) (?:the |all |every |your )?\w+(?:es|s)\b",
    ),
    (
        "no zero neither",
        r"^(?:no|zero) (?!idea|problem|worries|luck|longer|one\b|doubt|thanks|thank|way\b|rush|hurry|wonder|result"
        r"|output|such|i\b|it\b|that\b|the\b|this\b|we\b|you\b|not\b|please|remove|wait|errors?$|matter|question|clue"
        r"|chance|big\b|biggie|difference|change$|kidding|explicit|comment$|surprise|he\b|she\b|they\b|there\b|need$"
        r"|\w+ed\b|\w+ing\b)(?!.*\b(?:was|were|found|happened|failed|shows?|appears?"
        r"|exists?)\b)[a-z-]+(?:\W+\w+){0,14}$|\bno need (?:to|for)\b|\bnothing but\b|, no (?:\w+ ?){1,3}$"
        r"|^[\w ]{3,24}(?<!error): (?:no|never|not) ",
    ),
    (
        "we we're our us here",
        r"^(?:here )?we (?:use|target|ship|deploy|follow|stick|require|squash|indent|log|support|run|name|keep|pin"
        r"|version|only|write|call|format|release|host|build|test|store|merge|rebase|eat|live|speak|say"
        r"|spell)\b(?! (?:it\b|this\b|that\b|into\b))|\b(?:since|because|as|that|but|and|so) we (?:only )?(?:use"
        r"|support|target|ship|deploy|run on|indent)\b|^we(?:'re| are) (?:on|using|stuck on|limited to|bound to"
        r"|running|targeting|still on|now on|moving to)\b|^we have (?:until|till|only|a budget|\d)|\baround here$"
        r"|^we [^,]+\bhere\b|\b(?:in|on|for|with|at) (?:this|our|the) (?:repo|repository|project|codebase|team"
        r"|company|house|session)$|^in (?:this|our) (?:repo|repository|project|codebase|team|company|house|session"
        r"|conversation|chat)\b|^our (?:\w+ ){1,3}(?:is|are|runs?|uses?|requires?|signs?|targets?|has|have|needs?"
        r"|follows?|voice|style)\b",
    ),
    (
        "deadline deadline's budget goal aim target limit quota minimum maximum audience readers locale currency"
        " timezone due tone voice brand style standard point policy constraint requirement default",
        r"\b(?:deadline(?:'s)?|due date|budget|goal|aim|target|limit|quota|minimum|maximum|audience|locale|currency"
        r"|time ?zone|tone|brand voice|voice|style|standard|policy|constraint|requirement"
        r"|whole point)(?: for [^,.:]{1,40}| of [^,.:]{1,30}| here| has| now| went| is| are| should| of| on"
        r"|'s)*(?: (?:is|are|has moved|moved|went|went up|of)\b|'s\b|:)(?! (?:why|what|how|where|not clear|unclear"
        r"|missing|wrong|broken|off\b|there))|\bdeadline's\b|\bdue (?:on|by|at)\b|\bwhole point is\b",
    ),
    (
        "repo repository project codebase release api interface box host compiler device server cluster database"
        " production staging schema customer machine laptop environment image service container client installer",
        r"\b(?:repo|repository|project|codebase|release|api|interface|schema|database|cluster|host|server|box"
        r"|production|staging|device|environment|contract|customer)\b[^,;]{0,40} (?:is|are|belongs?|has|have|takes?"
        r"|runs?|holds?|must) (?:\w+ )?(?:public|private|frozen|read-only|legacy|closed|shared|open[- ]source"
        r"|air-?gapped|offline|proprietary|set in stone|final|confidential|to another team|\d+ ?(?:mb|gb|tb|cores?)"
        r"|hands off|at most|no internet|python|gcc|debian|ubuntu|windows|linux|macos|node|java)\b"
        r"|\bcompiler [^,;]* is\b",
    ),
    (
        "is called belongs isn't not are owns",
        r"\b(?:isn't|is not|aren't|are not) (?:for you|yours|to be|ours|called|allowed|up for)\b"
        r"|\bbelongs? to (?:another|the|a different|somebody)\b|\bbelongs? (?:in|into|under|on)\b",
    ),
    (
        "let's lets",
        r"\blet's (?:use|keep|avoid|make sure|stick|go with|agree|settle|switch to|stay|always|never|not (?:use|add"
        r"|touch)|say|limit|call|write everything)\b(?!.* to (?:find|see|get|check)\b)(?!.*\bfor (?:this|that|now)\b)",
    ),
    (
        "want like would great nice appreciate need",
        r"\bi want (?:the|my|your|our|it|them|things|everything|\w+s) (?:[^,.]{0,40} )?(?:in (?!the\b|this\b|that\b"
        r"|there)|as (?!well\b|soon|the\b)|short|long|to (?:be|stay|sound|look)\b|kept|at \d)|\bit would be (?:great"
        r"|nice|good|better|best) if\b.*\b(?:stayed|kept|were|always|never|used|every|all|only)\b|\b(?:i|we)(?:'d"
        r"| would) (?:like|appreciate|love) [^,]{0,20}\b(?:every|all|no|short|your|answers|replies)\b"
        r"|\bi want (?:short|long|brief|detailed|concise|plain|small|simple|no)\b",
    ),
    (
        "i'm my name's based live living i",
        r"\b(?:i'm|i am) (?:based|located|living|new to|not a (?:native|programmer|developer)|the (?:only|owner))\b"
        r"|^i (?:live|work) in\b|^my time ?zone\b|\bi only (?:have|speak|read|eat|want|accept|use)\b|^i speak\b",
    ),
    (
        "important note rule rules constraint constraints requirement format permission reminder",
        r"^(?:very |most )?(?:important|note|rule|rules|constraint|constraints|requirement|requirements|format"
        r"|output format|permission|house rule|reminder)\s?(?:\d+ ?)?[:-] ?\w",
    ),
    (
        "decide propose you're expert role",
        r"\byou (?:propose|suggest|write|code|draft)[^.]*,? (?:and )?i (?:decide|choose|review|approve|merge|push)\b"
        r"|^you(?:'re| are) (?:an? |my |now (?:an?|the) |acting |working )(?!right|welcome)(?!.*\bwrong\b)",
    ),
    (
        "by today's dated dates default",
        r"\bby default\b[,:]? (?:please|use|write|answer|show|run|do)|^(?:please )?by default\b",
    ),
)

_LOOSE = (
    (
        "every all any each everything everybody everyone anything anyone whoever everywhere",
        rf"^{_ALL}\b[^,;]{{0,70}}? (?:has to|have to|needs? (?:an?|my|to)|is|are|goes?|gets?|belongs?|follows?|comes?"
        rf"|lives?"
        r"|requires?|uses?|runs?|ends?|starts?|stays?|counts?|must|carries|carry|takes?)\b(?! (?:green|failing"
        r"|passing|done|red|broken|gone|fine|there|working|down|up|ok|good|set|on my|well|missing|lost|true|false"
        r"|empty|different|the same|nine|in the way|out)\b)|\b(?:so|and|but|since) (?:every|all|any"
        r"|each) [^,;]{0,40} (?:needs?|has to|have to|requires?|gets?|is to|are to)\b|\beverywhere$|\b(?:for"
        r"|with) (?:each|every|any) \w+$|^for (?:anything|everything|all|any|every|each)\b",
    ),
    (
        "only solely exclusively strictly just",
        rf"^(?:only|just) {_ONLY_AFTER}\b|\b(?:but|and|please|may|must|you|to|,) only {_ONLY_AFTER}\b"
        r"|^[^,]{3,60}\b(?:only|exclusively|strictly)$|\b(?:in|as|with) [\w.+#-]+ only\b|: [\w .+#-]+ only\b"
        r"|, only \w+ \w+|\bis the only (?:\w+ )?(?:one |place |branch )?(?:who|that|where|allowed)\b"
        r"|\bi'm the only\b|\bthe only one who\b",
    ),
    (
        "most more longer least max maximum minimum below under within limit fewer less up exceed over budget than",
        r"^(?!i need\b|there\b|it\b|they\b|he\b|she\b|we have\b|the function\b|this\b|that\b|why\b"
        r"|what\b)(?:.* )?(?:at (?:most|least)|(?:no|not) (?:more|longer|fewer|less|larger|bigger|higher|later) than"
        r"|(?:a )?max(?:imum)?(?: of)? \d+|(?:below|under|within) (?:a |an )?(?:\d|one|two|three|five|ten|twenty"
        r"|hundred|half|the standard|budget)|(?:not|never) exceed|up to (?:\d|one|two|three|five|ten)|(?:fewer"
        r"|less) than)\b|^(?:stay|remain|keep|live) (?:\w+ )?(?:within|below|under|in)\b",
    ),
    (
        "plenty enough suffices sufficient will do",
        r"\b(?:is|are|suffices?|'s) (?:plenty|enough|sufficient)\b(?: for me)?$|\b(?:plenty|enough) for me\b",
    ),
    (
        "follow follows live lives go goes stay stays belong come comes start end use uses have get carry need needs"
        " take",
        rf"^(?:the |our |all |new |public )?(?:\w+ ){{0,2}}{_TEXTS}(?: and \w+)? (?:always |never |only )?(?:follow"
        rf"|live|go"
        r"|stay|belong|come|start|end)s? (?:the|our|in|into|under|next|through|to|with|as|at|on|first|last"
        r"|conventional|pep|google|\w+ (?:style|conventions))\b|\b(?:goes?|belongs?|lives?|go) (?:through|via|into"
        r"|under|next to) [^,]+ (?:here|around here|everywhere|only)\b|^new \w+ go\b|^\w+ go in as\b",
    ),
    (
        "answers answer replies responses comments dates units language english german french spanish prose tables"
        " bullet bullets points please units sentence sentences paragraphs emojis messages",
        rf"^(?:{_TEXTS}|bullets?(?: points?)?|metric|imperial|short|plain|prose|tables?|lists?|one|two|three|english"
        rf"|german"
        r"|french|spanish|italian|chinese|japanese|korean|russian|british|american|us|uk|simple|longer|numbered"
        r"|full)\b[^.?]{0,60}(?:,? please\b|: |\bonly\b|, not\b| in (?:english|german|french|spanish|italian|chinese"
        r"|japanese|korean|russian|metric|imperial|markdown|json|prose|plain|full|short|lower|upper|utc|iso)\b"
        r"| as (?:json|markdown|a table|bullets?|prose|lists?)\b)(?!.*\?)|^(?:short|brief|concise) (?:answers|replies"
        r"|responses|sentences)\b",
    ),
)

# How a task begins. Commit and test are no such words: "Commit messages in English".
_TASKS = """
    read run look find fix add write implement create build refactor check explain show list summarize summarise compare
    delete remove rename move print count give tell generate draft plan propose suggest translate search open start
    restart undo try make go do review investigate analyse analyze port convert update draw plot sort load extract get
    fetch send install upgrade clean optimise optimize profile debug rewrite split merge push have can could would will
    i've i'll sum describe design outline sketch replace improve simplify conduct continue invoke inspect examine then
    next first afterwards finally
"""
TASKS = frozenset(_TASKS.split())

MOMENT = re.compile(
    r"\b(?:yet|for now|right now|just now|this time|at the moment|for the moment|for today|again|once more|first"
    r"|this one|the (?:next|first|last|second|third|other) (?:one|step|task|file))\b"
)

# A question is a wish when it asks for more than this moment.
WISH = re.compile(
    r"\b(?:can|could|would|will) (?:you|we) (?:please |also |just |maybe ){0,2}(?:always|never|make sure|ensure|only"
    r"|avoid|stick|stop \w+ing)\b|\bplease (?:always|never|make sure|ensure|don't|only)\b|\bfrom now on\b"
    r"|\bin (?:the )?future, (?:please|can|could)\b"
)
FILLER = re.compile(
    r"(?:(?:and|also|but|so|ok|okay|please|yes|yeah|yep|no|oh|hi|hey|hello|well|right|great|thanks|btw|by the way"
    r"|one more thing|another thing|again|for the record|fyi|hmm?|alright|sorry|actually|in general|generally"
    r"|and then|whatever you do|one thing|good|cool)[,:;!.—–-]+ *|(?:and|also|but|so|then|please|ok|okay|well|just"
    r"|actually|now) +){1,5}"
)
QUOTED = re.compile(r"\"[^\"]{12,300}\"|“[^”]{12,300}”|«[^»]{12,300}»|「[^」]{4,300}」|“[^”]{4,300}”")

Filed = dict[str, tuple[re.Pattern[str], ...]]


def filed(table: Iterable[tuple[str, str]]) -> Filed:
    """The patterns of a table by each of the words that they are filed under.

    >>> sorted(filed([("a b", "x"), ("b", "y")]))
    ['a', 'b']
    """
    found: dict[str, list[re.Pattern[str]]] = {}
    for words, pattern in table:
        compiled = re.compile(pattern)
        for word in words.split():
            found.setdefault(word, []).append(compiled)
    return {word: tuple(patterns) for word, patterns in found.items()}


STRONG, WEAK, LOOSE = filed(_STRONG), filed(_WEAK), filed(_LOOSE)

_HEADS = (
    r"rules?|constraints?|requirements?|guidelines?|conventions?|preferences?|instructions|format|important|remember"
    r"|keep in mind|bear in mind|do's and don'ts|dos and don'ts|principles|style|规则|要求|约束|注意|規則|约定|ルール"
    r"|制約|約束|規約|규칙|조건|제약|reglas|restricciones|normas|regeln|vorgaben|règles|contraintes|consignes|правила"
    r"|требования"
)
LIST_HEAD = re.compile(
    rf"(?:{_HEADS})\b\W{{0,6}}[:：]$|^(?:\w+ ){{0,4}}(?:{_HEADS})\b[^.:：]{{0,60}}[:：]$|(?:规则|要求|约束|注意"
    rf"|规约)\W{{0,3}}[:：]$"
)
