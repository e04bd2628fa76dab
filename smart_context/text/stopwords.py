"""Stop words of seven languages and of Chinese and Japanese."""

from collections.abc import Mapping
from types import MappingProxyType

_ENGLISH = """
a about above after again all also am an and any are aren't as at be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't
done down during each else etc even ever every few for from further get gets getting go goes going
gone got had hadn't has hasn't have haven't having he he's her here hers herself him himself his
how i i'd i'll i'm i've if in into is isn't it it's its itself just let let's like may me might
more most much must my myself no nor not now of off oh ok okay on once one only or other ought our
ours out over own per perhaps please quite rather really same shall she she's should shouldn't so
some such than that that's the their theirs them then there there's these they they'd they'll
they're they've this those through thus to too under until up upon us very via was wasn't we we'd
we'll we're we've well were weren't what what's when where which while who whom whose why will
with within without won't would wouldn't yeah yep yes yet you you'd you'll you're you've your
yours yourself thanks thank hi hello hey sure maybe anything something nothing everything thing
things way lot lots bit say says said tell told ask asked know knows knew think thinks thought
want wants wanted need needs use uses used using make makes made making take takes took give gives
gave put puts look looks see sees seen come comes came keep keeps kept seem seems try tries tried
good great nice right still already always never often new old many first two three im ive dont
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch
auf aus bei beim bin bis bist bitte da dabei dadurch dafür damit danke dann darauf daraus darf das
dass dazu dein deine deinem deinen deiner dem den denn der des dessen dich die dies diese diesem
diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einmal er es etwas
euch euer eure für gegen gewesen gibt ging haben habe hab hat hatte hätte hier hin hinter ich ihm
ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jetzt kann
kannst kein keine keinem keinen keiner können könnte machen mal man mehr mein meine meinem meinen
meiner mich mir mit muss müssen nach nein nicht nichts noch nun nur ob oder ohne schon sehr sein
seine seinem seinen seiner seit sich sie sind so soll sollte sollten sondern sonst über um und uns
unser unsere unter viel vom von vor wann war waren warum was weg weil weiter welche welcher welches
wenn wer werde werden wie wieder will wir wird wirklich wo wollen wurde würde zu zum zur zwar
zwischen gerne gern ganz gut heute immer möchte
"""
_FRENCH = """
ai alors après as au aucun aussi autre aux avait avant avec avez avoir avons bien bon car ce cela
ces cet cette ceux chaque chez comme comment dans de des deux doit donc dont du elle elles en
encore entre est et étaient était été être eu fait faire faut il ils je jamais juste la le les leur
leurs lors lui ma mais me même merci mes moi moins mon ne ni non nos notre nous on ont ou où par
parce pas peu peut peux plus pour pourquoi pouvez quand que quel quelle quelles quels qui quoi sa
sans se sera ses si son sont sous suis sur ta te tes toi ton toujours tous tout toute toutes très
tu un une va vais vers veux voici voilà vos votre vous y ça oui bonjour salut
"""
_SPANISH = """
a al algo algún alguna algunas algunos ante antes así aún aunque bien cada casi como cómo con
contra cosa cosas cual cuál cuando cuándo de del desde donde dónde dos el él ella ellas ellos en
entonces entre era eres es esa esas ese eso esos esta está están estas este esto estos estoy fue
gracias ha hace hacer hacia han hasta hay he hola incluso la las le les lo los más me mi mí mis
mientras muy nada ni no nos nosotros o otra otras otro otros para pero poco por porque pues puede
puedes puedo que qué quien quién quiero se sea ser si sí sido sin sobre son soy su sus también
tan tanto te tener tengo ti tiene tienes todo todos toda todas tu tú tus un una unas uno unos usted
va ver vez y ya yo
"""
_ITALIAN = """
a abbiamo agli ai al alla alle allo anche ancora avere bene c'è che chi ci ciao come con cosa così
cui da dagli dai dal dalla dalle de degli dei del della delle dello deve di dopo dove due e è ed
era essere fa fare fino fra gli grazie ha hai hanno ho i il in io la le lei li lo loro lui ma mi
mia mie miei mio molto ne negli nei nel nella nelle no noi non nostra nostro o ogni oppure ora per
perché però più poi posso prima può puoi qual quale quali quando quanto quella quelle quelli quello
questa queste questi questo qui se sei senza si sì sia siamo solo sono sta su sua sue sugli sui sul
sulla suo suoi te ti tra tu tua tuo tutti tutto un una uno vi voglio voi vorrei
"""
_PORTUGUESE = """
a ao aos até as às com como da das de dela dele deles depois do dos e é ela elas ele eles em entre
era essa essas esse esses esta está estão estas este estes estou eu foi fazer há isso isto já lhe
mais mas me mesmo meu meus minha minhas muito muita na não nas nem no nos nós nossa nosso num numa
o obrigado olá onde os ou para pela pelas pelo pelos por porque pode posso qual quando que quem
quero se sem ser seu seus só sobre sua suas são também tem tenho ter teu tua tudo um uma umas uns
você vocês vou
"""
_DUTCH = """
aan af al alle alleen als altijd andere ben bij bent blijven daar dan dat de der deze die dit
doch doen door dus een eens en er ga gaan geen geweest goed graag had heb hebben heeft hem het hier
hij hoe hun ik in is ja je jij jou jouw jullie kan kunnen kun maar maken me meer men met mij mijn
moet moeten mag na naar nee niet niets nog nu of om omdat ons onze ook op over te tegen toch toen
tot u uit uw van veel voor waar want waren was wat we weer wel welke werd wie wij wil willen worden
wordt zal ze zeer zelf zich zij zijn zo zonder zou bedankt dank hallo
"""

STOP_WORDS_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": frozenset(_ENGLISH.split()),
        "de": frozenset(_GERMAN.split()),
        "fr": frozenset(_FRENCH.split()),
        "es": frozenset(_SPANISH.split()),
        "it": frozenset(_ITALIAN.split()),
        "pt": frozenset(_PORTUGUESE.split()),
        "nl": frozenset(_DUTCH.split()),
    }
)
"""The stop words of each language by its ISO 639-1 code."""

STOP_WORDS: frozenset[str] = frozenset().union(*STOP_WORDS_OF.values())

PARTICLES: frozenset[str] = frozenset("的了吗嗎呢吧啊呀哦们們这這那哪么麼はがをにへ")
"""Characters that serve grammar only: a pair that holds one of them is no content word."""

FUNCTION_CHARACTERS: frozenset[str] = frozenset(
    "是我你他她它也就还還很与與在有没沒不要会會能可以把被让讓给給从從到对對为為什怎样樣个個些之而但或如"
    "果因所请請谢謝您想说說去来來做好再又太更最都和一下多少几幾点點时時候上里裡"
    "とでのもやかねよなだすまるれたてっいしこそあどうくりけさらんせ"
)
"""Characters that often serve grammar: a pair of two of them is no content word."""
