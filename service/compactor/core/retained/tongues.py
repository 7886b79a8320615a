"""What makes a sentence binding in other languages than English: the plain cues of command, permission and convention.

Languages with blanks are looked through where one of their words is there; those without, where their script is.
Everything is in lower case. That a sentence looks back, or is about this moment only, is told from a few words.
"""

from __future__ import annotations

import re

SPANISH = (
    r"siempre|nunca|jamás|(?:de ahora|en|de aquí) (?:en )?adelante|a partir de (?:ahora|hoy)|bajo ningún concepto"
    r"|en ningún caso|(?:^|[,;:] |por favor,? |pero |y )no (?:me |te |le |lo |la |los |las |nos )?(?!tienes|puedes"
    r"|sabes|entiendes|eres|estás|es\b|has\b|quieres|ves\b)\w+(?:es|as)\b|deb(?:e|es|en)\b|hay que|s[oó]lo (?:puedes"
    r"|usa|edita|responde|en|con)|únicamente|prefiero|preferimos|asegúr[ae]\w*|evit[ae]\b|mantén|prohibid[oa]"
    r"|obligatori[oa]|permitido|por favor,? us[ae]|^(?:usa|utiliza|usad|mejor usa)\b|(?:^|\b)(?:trát|llám|hábl"
    r"|tuté)\w*me\b|soy (?:celíac|vegetarian|vegan|alérgic|daltónic|intolerante)\w*|alergi[ac]\w*|nada de\b"
    r"|puedes\b.*\b(?:pero|salvo|excepto|sin)\b|(?:usamos|utilizamos|seguimos|trabajamos con)|como (?:mucho|máximo)"
    r"|máximo (?:de )?\d|no más de|antes de cada|después de cada|cada vez que|(?:fecha límite|plazo"
    r"|presupuesto)\b.*\b(?:es|son|termina)|(?:responde|contesta|respóndeme|contéstame|escribe)\w* (?:siempre "
    r"|solo )?en (?:español|inglés|francés|alemán)|respuestas,? (?:cortas|breves)|(?:cambia|pasa) a (?:español|inglés"
    r"|espacios)|cualquier .* necesita|^tod[oa]s? l[oa]s .* (?:en|deben|van|son|llevan)|ya no (?:hace falta"
    r"|es necesario)|ahora (?:sí )?puedes|ya puedes"
)
GERMAN = (
    r"immer|nie|niemals|ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|künftig|in zukunft|fortan|keinesfalls"
    r"|(?:auf keinen|in keinem) fall|unter keinen umständen|darf(?:st)?\b|dürfen|müssen|muss (?!ich)|musst\b"
    r"|bitte (?:nicht|nur|kein|verwende|benutze|immer|stets)\w*|vermeide|stelle? (?:bitte )?sicher|verboten|erlaubt"
    r"|tabu|pflicht|bevorzuge|^(?:verwende|benutze|nutze|nimm)\b|verwende (?:nur|immer|stattdessen)|finger weg"
    r"|(?:wird|werden) (?:nichts|nicht|kein\w*)\b|(?:^|, |: )(?:kein|keine|keinen) \w+|nicht\b[^.]*\b\w*(?:ändern"
    r"|anfassen|löschen|verwenden|pushen|committen|benutzen|installieren|mergen)\b|lass\w*\b[^.]*\b(?:in ruhe|bleiben"
    r"|unangetastet|so wie)|wir (?:verwenden|benutzen|nutzen|schreiben|setzen|arbeiten)|höchstens|maximal"
    r"|nicht mehr als|mindestens|(?:vor|nach) jede[mrs]|jedes ?mal|sobald du|ich (?:vertrage|esse) (?:kein|nicht)\w*"
    r"|ich bin (?:allergisch|vegetarier|veganer|farbenblind)\w*|allergi\w+|beim du|duze?n?\b|sieze?n?\b"
    r"|nenn(?:e)? mich|ich heiße|(?:fasse?|halte?) dich kurz|kurze antworten|(?:antworte|schreib|schreibe|rede"
    r"|sprich)\w*\b.*\bauf (?:deutsch|englisch|französisch|spanisch)|(?:abgabetermin|frist|deadline|budget"
    r"|stichtag)\b.*\b(?:ist|beträgt|liegt|:)|ich (?:bevorzuge|möchte (?:kein|nur|immer)|will (?:kein|nur|immer)"
    r"|hasse)\w*|(?:^|bitte )nur\b|nur (?:auf|in|mit|noch)|stets|grundsätzlich|(?:doch )?lieber|(?:auf|in) (?:deutsch"
    r"|englisch),? bitte|nicht mehr (?:nötig|nötig)|du kannst\b.*\b(?:aber|außer|ohne|jetzt)|alle \w+ (?:müssen"
    r"|sollen|werden|gehören|bleiben|sind)|soll(?:en|st)? (?:nicht|nur|immer|auf)"
)
FRENCH = (
    r"toujours|jamais|dorénavant|désormais|à partir de (?:maintenant|là|aujourd'hui)|à l'avenir|en aucun cas"
    r"|sous aucun prétexte|doi(?:t|vent)\b|devez|il (?:ne )?faut|seulement|uniquement|je préfère|nous préférons"
    r"|évitez?\b|assure-toi|assurez-vous|interdit|obligatoire|autorisé|permis de|(?:^|[,;:] |mais |et )(?:ne"
    r"|n')\s?\w+(?:-\w+)? (?:\w+ )?(?:pas|jamais|que|rien|plus)\b|utilisez?\b|chez nous|par ici, on|on (?:utilise"
    r"|indente|écrit|suit|travaille)|nous (?:utilisons|suivons)|tu peux (?:me |désormais|maintenant|aussi)"
    r"|tu peux\b.*\b(?:mais|sauf|sans)|le droit de|tutoie|tutoyer|vouvo\w+|appelle-moi|appelez-moi|au maximum|au plus"
    r"|maximum|pas plus de|réponses? courtes?|réponds(?:-moi)? (?:toujours )?en (?:français|anglais|allemand"
    r"|espagnol)|je suis (?:végéta|vég[ae]n|allergique|daltonien|cœliaque|intolérant)\w*|allergi\w+|(?:avant"
    r"|après) chaque|chaque fois|(?:date limite|délai|échéance|budget)\b.*\b(?:est|sont)|tous les .* (?:en|doivent"
    r"|sont)|toutes les .* (?:en|doivent|sont)|plutôt|(?:en français|en anglais),? s'il|plus besoin|garde\w* (?:les"
    r"|le|la|un)|laisse\w* .* (?:tranquille|comme)|pas de \w+"
)
RUSSIAN = (
    r"всегда|никогда|нельзя|долж(?:ен|на|но|ны)|обязательно|только|запрещен[оаы]?|запрещено|отныне|впредь|(?:с"
    r"|от) этого момента|с сегодняшнего дня|в дальнейшем|ни при каких|ни в коем|избегай(?:те)?|используй(?:те)?"
    r"|пользуйся|убеди(?:сь|тесь)|предпочита(?:й|ю|ем)|мы (?:используем|пишем|работаем|на)|не (?:надо|нужно|трогай"
    r"|меняй|используй|удаляй|делай|забудь|забывай|пиши|пуш|коммить|добавляй|изменяй|ставь)\w*|у нас (?:в проекте"
    r"|здесь|принято|тут)|обращайся|обращайтесь|на ты|называй|зови|меня зовут|не больше|не более|максимум|не меньше"
    r"|минимум|отвечай(?:те)? (?:мне )?(?:кратко|коротко|на )|пиши(?:те)? (?:на|по-|кратко)|аллерги\w+"
    r"|я (?:вегетариан|веган|дальтоник|не ем)\w*|перед кажд\w+|после кажд\w+|каждый раз|можешь\b.*\b(?:кроме|но"
    r"|теперь)|можно\b.*\b(?:но|кроме|теперь)|(?:срок|дедлайн|бюджет)\b|без (?:моего|спроса|разрешения)|по умолчанию"
    r"|лучше|все \w+ (?:должны|на|пишем)|оставь\w* .* как|теперь"
)
EUROPEAN = re.compile(rf"(?<![\w-])(?:{SPANISH}|{GERMAN}|{FRENCH}|{RUSSIAN})(?!\w)")
# Words that tell one of these languages from English: without one of them, or a letter beyond ASCII, nothing is tried.
_TELLING = """
    siempre nunca jamás usa usamos utilizamos utiliza responde contesta puedes soy evita debe deben debes antes nada
    por solo sólo cada prefiero mejor ya como de el la los las en
    immer nie niemals nicht nur bitte kein keine keinen keiner wir ich du der das auf ab muss müssen darf darfst
    verwende benutze nimm lass lieber stets vor kurze fasse halte
    toujours jamais ne pas que tu nous il je le les avant utilise utilisez évite chez doit mais une désormais
"""
TELLING = frozenset(_TELLING.split())

CHINESE = (
    "以后|今后|从现在|从今|往后|必须|不要|(?<!我)(?<!们)不能|不得|不准|不许|不可|禁止|请勿|切勿|请使用|请用|用中文"
    "|用英文|(?:^|[，。；：,! ！请都也就但])别(?:再|动|改|用|引|提|碰|删|加|写|在|把|给)|(?:^|[，。；：请])不用|始终"
    "|总是|永远|一律|务必|只能|只用|只许|只准|避免|优先|确保|保持|统一|不允许|未经|随意|随便|(?:称呼|叫)我|过敏|吃素"
    "|素食|不吃|忌口|预算|截止|期限|上限|不超过|最多|至少|控制在|以内|之内|我们(?:的)?(?:项目|团队|这里|这边)?(?:都"
    "|一直|统一)?(?:用|使用|采用)|项目(?:里|中)?(?:使用|采用|用)|(?:之前|以前|前)(?:都|要|请|必须|先|一定)|每次"
    "|每个.{1,12}都|所有.{1,12}都|全部用|改用|改成|换成|现在可以|可以.{1,20}(?:但|除了)|除非|我喜欢|我偏好|我更喜欢"
    "|必須|總是|務必|請勿|請使用|不准|規定"
)
KOREAN = (
    "앞으로|항상|언제나|절대|반드시|꼭 |이제부터|지금부터|하지 ?마|지 ?마(?:세요|라|$|\\W)|지 ?말|금지|로만"
    "|만 (?:사용|써|쓰)|(?:아|어|여|해)야 (?:해|합|돼|됩|한)|이내|이하로|넘지 않|알레르기|못 먹|채식|라고 불러"
    "|(?:우리|저희) ?(?:팀|회사|프로젝트)?(?:은|는|에서는)|여기서는|이 프로젝트|그대로 (?:둬|두|놔)|건드리|(?:마감"
    "|기한|예산|데드라인)(?:은|는|일은|이)|매번|마다|면 안 (?:돼|됩)|해도 (?:돼|됩|좋|괜찮)|유지해|피해 ?주|선호|대신"
    "|전에 (?:항상|반드시|먼저|꼭)|반말|존댓말|말고"
)
JAPANESE = (
    "今後|これから(?:は|も|ずっと)|以降は|必ず|常に|いつも|絶対|ないで(?:ください|下さい|くれ|ね|ほしい|欲しい|$|。)"
    "|禁止|てはいけ|てはなら|ちゃだめ|ちゃダメ|しないこと|(?:する|書く|使う|守る|行う|付ける|つける)こと(?:。|$)|のみ"
    "|だけ(?:を|で|に)?(?:使|答|変|編|書)|を使って(?:い|ください|ね)|使用して(?:い|ください)|避けて|優先して"
    "|アレルギー|食べられ|ベジタリアン|締め?切り|〆切|期限|納期|予算|以内|以下で|呼んで|敬語|タメ口|不要です"
    "|てもい(?:い|です)|てもよい|て(?:も)?構い|でお願い|(?:日本語|英語|中国語)で(?:答|回答|返|書|話)|ごとに|たびに"
    "|前に(?:は|必ず)|(?:プロジェクト|チーム|ここ)では|箇条書き|簡潔に|短く|より優先|の方が好き|ほうが好き|統一"
    "|許可なく|勝手に"
)
EASTERN = re.compile(f"{CHINESE}|{KOREAN}|{JAPANESE}")
EASTERN_SCRIPT = re.compile("[぀-ヿ一-鿿가-힣]")

MOMENT = re.compile(
    "先别|暂时|这次|今回は|とりあえず|일단|이번에는|por ahora|esta vez|todavía no|vorerst|diesmal|noch nicht"
    "|pour l'instant|cette fois|пока не|пока что|на этот раз"
)
