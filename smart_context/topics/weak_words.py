"""Words that mean something but name no topic: verbs of request, time, amounts, evaluation."""

_ENGLISH = """
ahead able add added adding advice allow allows amount answer answered answers apart appear around
ask asking away back bad basically become begin believe best better big bigger book break bring
buy call care careful case cases cause causes certain change changed changes check checked choose
clear clearly close cold common compare completely consider contain cost costs cover create
current currently cut daily date day days deal decide depends detail details difference different
difficult directly drop early easier easily easy effect end ends enough entire especially
everyday exactly example examples excellent expect expensive explain extra face fact fall false
fast faster feel feels few fewer fill final find fine fit fits fix fixed follow following form
found free fresh full general generally given glad guess half hand happen happens happy hard
harder heard heavy help helped helpful helps high higher hold hope hour hours huge idea ideas
important improve include includes increase inside instead interested interesting issue issues
job kind know known large larger last late lately later learn least leave left less level light
likely line list little live long longer looking loose lose love low lower main manage mark
matter matters mean means mention minute minutes mistake moment month months morning move moved
name near nearly necessary next night noon normal normally note notes notice number numbers ok
open option options order part particular pass past people perfect person pick piece place
places plan play plenty point points poor possible pretty prefer prepare problem problems
properly provide pull push quality question questions quick quickly rarely reach read ready
real reason reasons recommend regular remember remove replace request rest result results return
run running runs safe sample save second seconds send separate set sets several share short
should show shows side similar simple simply single sit size slightly slow slowly small smaller
somebody someone sometimes soon sorry sort sound sounds space special specific spend spot start
started starting starts stay step steps stop stopped store stuff subject suggest suggestion sum
suppose table talk terms thanks theory third thinking thought till time times tiny tip tips
today together tomorrow tonight top topic total touch true turn type types understand unless
unlikely unrelated use used useful user usual usually value version wait wake walk warm wash watch
water weak week weekend weeks welcome wide wish wonder wondering word words work worked working
works worse worst worth write writing wrong year years yesterday young anyway actually absolutely
definitely lol haha wow cool awesome amazing guys guy gonna wanna totally favorite fun loves loved
enjoy enjoys nice hey hear hows whats thats cant couldnt doesnt
gb mb kb tb km cm mm kg ms ml hz am pm percent degrees euros dollars drop drops carry collect
"""
_GERMAN = """
anders anderes thema beispiel bekommen besser bester beste brauche brauchen braucht dauert davon
denke eigentlich einfach empfiehlst ende etwa fragen frage fast finden findest geben gehen geht
gelten genau genug gerade gleich groß halt helfen hilfe hoch jahr jahre jahren jeweils klar klein
kosten kostet kurz lang lange langen lassen leicht leider letzten liegt machst mache macht manchmal
meist meisten mindestens minuten möglich monat monate morgen neue neuen nimm niedrigen nächste oft
paar passt prozent rund sagen schnell sehen seite steht stunde stunden tag tage tagen teil trinke
tun tut ungefähr unterschied verwenden viele vielen vielleicht voll vorher wenig weniger wichtig
wissen woche wochen wohl zeit zehn zwei zweimal drei vier fünf sechs ersten erste wollt ohnehin
zusammen überhaupt sechs sieben acht neun elf zwölf fünfzehn zwanzig dreißig vierzig fünfzig
sechzig hundert tausend grad euro kilometer meter
"""
_OTHERS = """
fois jour jours temps semaine mois ans année exemple question problème aide besoin chose choses
beaucoup vraiment mieux meilleur possible dois sais peux aimerais voudrais
día días semana mes años año ejemplo pregunta problema ayuda necesito mejor veces vez quisiera
gustaría puedo debo tiempo cuánto cuántos
giorno giorni settimana mese anni esempio domanda problema aiuto meglio volta volte vorrei
dia dias semana mês anos exemplo pergunta ajuda melhor vezes gostaria preciso
dag dagen week maand jaar voorbeeld vraag probleem hulp beter keer
"""
_CHINESE = """
方便 代替 住在 推荐 推薦 怎么 怎麼 什么 什麼 时候 時候 可以 需要 最好 比较 比較 知道 觉得 覺得
建议 建議 介绍 介紹 使用 问题 問題 方法 时间 時間 小时 小時 分钟 分鐘 半个 一下 一个 一些 这个
那个 现在 開始 开始 附近 最后 最後 有没有 没有 沒有 设置 設置 看看 告诉 告訴 帮我 幫我 换个 话题
合适 查看
"""

WEAK_WORDS: frozenset[str] = frozenset((_ENGLISH + _GERMAN + _OTHERS + _CHINESE).split())
