"""Words that mean something but name no topic: verbs of request, time, amounts, evaluation."""

from collections.abc import Mapping
from types import MappingProxyType

_ENGLISH = """
ahead able add added adding advice allow allows amount answer answered answers apart appear around
ask asking away back bad basically become begin believe best better big bigger break bring buy
call care careful case cases cause causes certain change changed changes check checked choose
clear clearly close cold common compare completely consider contain cost costs cover create
current currently cut daily date day days deal decide depends detail details difference different
difficult directly drop early easier easily easy effect end ends enough entire especially everyday
exactly example examples excellent expect expensive explain extra face fact fall false fast faster
feel feels few fewer fill final find fine fit fits fix fixed follow following form found free
fresh full general generally given glad guess half hand happen happens happy hard harder heard
heavy help helped helpful helps high higher hold hope hour hours huge idea ideas important improve
include includes increase inside instead interested interesting issue issues kind know known large
larger last late lately later learn least leave left less level likely line list little live long
longer looking loose lose love low lower main manage mark matter matters mean means mention minute
minutes mistake moment month months morning move moved name near nearly necessary next night noon
normal normally note notes notice number numbers ok open option options order part particular pass
past people perfect person pick piece place places plan play plenty point points poor possible
pretty prefer prepare problem problems properly provide pull push quality question questions quick
quickly rarely reach read ready real reason reasons recommend regular remember remove replace
request rest result results return run running runs safe save second seconds send separate set
sets several share short should show shows side similar simple simply single sit size slightly
slow slowly small smaller somebody someone sometimes soon sorry sort special specific spend spot
start started starting starts stay step steps stop stopped store stuff subject suggest suggestion
sum suppose table talk terms thanks theory third thinking thought till time times tiny tip tips
today together tomorrow tonight top topic total touch true turn type types understand unless
unlikely unrelated use used useful user usual usually value version wait wake walk warm wash watch
weak week weekend weeks welcome wide wish wonder wondering word words work worked working works
worse worst worth write writing wrong year years yesterday young anyway actually absolutely
definitely lol haha wow cool awesome amazing guys guy gonna wanna totally favorite fun loves loved
enjoy enjoys nice hey hear hows whats thats cant couldnt doesnt gb mb kb tb km cm mm kg ms ml hz
am pm percent degrees euros dollars drops carry collect january february march april june july
august september october november december monday tuesday wednesday thursday friday saturday
sunday afternoon evening afternoons evenings one's yours four five six seven eight nine ten eleven
twelve fifteen twenty thirty forty fifty hundred thousand million dozen couple pair stays sometime
otherwise also somewhat rough roughly hardly newest everybody everyone anyone nobody likewise
accept accepts accepted add adds arrive arrives bite bites bought built catch catches caught choose
chooses compares crash crashes crashed decides die dies died eat eats eating ate eaten exceed
exceeds exist exists explains fail fails failed fell felt fetch finds finding forget forgets forgot
gather gathers gets grow grows grew happens hang hangs hate hates hear hears hide hides hung hurt
hurts knock knocks lag lags lasts laid lay lie lies lift lifts lock locks makes meet meets met
moves need needed overflow overflows owe own owns pay pays paid reads receive receives remain
remains rise rises risen says sell sells sold sends sink sinks sit sits sleeps smell smells spends
stand stands stick sticks stood suit suits swell swells swap swaps takes taste tastes teach teaches
tell tells thinks throw throws tells turns understands wants warn warns wear wears wins won
aloud alone abroad indoors outdoors overnight upstairs downstairs outside inside upside sideways
blind flat raw dull crisp sour sweet dry wet dark bright loud quiet dense thin thick
"""
_GERMAN = """
anders anderes thema beispiel bekommen besser bester beste brauche brauchen braucht dauert davon
denke eigentlich einfach empfiehlst ende etwa fragen frage fast finden findest geben gehen geht
gelten genau genug gerade gleich groß halt helfen hilfe hoch jahr jahre jahren jeweils klar klein
kosten kostet kurz lang lange langen lassen leicht leider letzten liegt machst mache macht
manchmal meist meisten mindestens minuten möglich monat monate morgen neue neuen nimm niedrigen
nächste oft paar passt prozent rund sagen schnell sehen seite steht stunde stunden tag tage tagen
teil trinke tun tut ungefähr unterschied verwenden viele vielen vielleicht voll vorher wenig
weniger wichtig wissen woche wochen wohl zeit zehn zwei zweimal drei vier fünf sechs ersten erste
wollt ohnehin zusammen überhaupt sieben acht neun elf zwölf fünfzehn zwanzig dreißig vierzig
fünfzig sechzig hundert tausend grad euro kilometer meter januar februar märz april mai juni juli
august september oktober november dezember montag dienstag mittwoch donnerstag freitag samstag
sonntag ding dinge sache sachen nachfrage gern uhr abend nacht hälfte menge mengen verhältnis
stück liter gramm minute
"""
_FRENCH = """
fois jour jours temps semaine mois ans année exemple question problème aide besoin chose choses
beaucoup vraiment mieux meilleur possible dois sais peux aimerais voudrais janvier février mars
avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi
vendredi samedi dimanche autre autres questions heure heures minute minutes euros environ matin
soir petit petite petits grand grande grands premier première premières nouveau nouvelle suivant
moitié parts tard tôt assez trop presque quart
"""
_SPANISH = """
día días semana mes años año ejemplo pregunta problema ayuda necesito mejor veces vez quisiera
gustaría puedo debo tiempo cuánto cuántos enero febrero marzo abril mayo junio julio agosto
septiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo tema
hora horas minutos euros tarde mañana noche pequeño grande primero primera nuevo nueva último
últimos mitad menos mucho muchos mucha demás unos cinco seis siete ocho nueve diez veinte cien
ciento
"""
_ITALIAN = """
giorno giorni settimana mese anni esempio domanda problema aiuto meglio volta volte vorrei gennaio
febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre lunedì
martedì mercoledì giovedì venerdì sabato domenica ora ore minuti minuto euro mattina sera piccolo
grande primo prima nuovo nuova ultimo metà mezz'ora mezza altra altro cosa tre quattro cinque sei
sette otto nove dieci molte molti poco tutte tutti normale passiamo cento grammi metri
"""
_PORTUGUESE = """
dia dias semana mês anos exemplo pergunta ajuda melhor vezes gostaria preciso janeiro fevereiro
março abril maio junho julho agosto setembro outubro novembro dezembro segunda terça quarta quinta
sexta sábado domingo hora horas minutos euros reais tarde manhã noite pequeno grande primeiro
primeira novo nova último metade outro outra coisa três quatro cinco seis sete oito nove dez
"""
_DUTCH = """
dag dagen week maand jaar voorbeeld vraag probleem hulp beter keer januari februari maart april
juni juli augustus september oktober november december maandag dinsdag woensdag donderdag vrijdag
zaterdag zondag uur uren minuten euro klein kleine groot grote eerste nieuwe laatste andere drie
vier vijf zes zeven acht tien
"""
_CHINESE = """
方便 代替 住在 推荐 推薦 怎么 怎麼 什么 什麼 时候 時候 可以 需要 最好 比较 比較 知道 觉得 覺得
建议 建議 介绍 介紹 使用 问题 問題 方法 时间 時間 小时 小時 分钟 分鐘 半个 一下 一个 一些 这个
那个 现在 開始 开始 附近 最后 最後 有没有 没有 沒有 设置 設置 看看 告诉 告訴 帮我 幫我 换个 话题
合适 查看
"""

WEAK_WORDS_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": frozenset(_ENGLISH.split()),
        "de": frozenset(_GERMAN.split()),
        "fr": frozenset(_FRENCH.split()),
        "es": frozenset(_SPANISH.split()),
        "it": frozenset(_ITALIAN.split()),
        "pt": frozenset(_PORTUGUESE.split()),
        "nl": frozenset(_DUTCH.split()),
        "zh": frozenset(_CHINESE.split()),
    }
)
"""The weak words of each language by its ISO 639-1 code."""

WEAK_WORDS: frozenset[str] = frozenset().union(*WEAK_WORDS_OF.values())
