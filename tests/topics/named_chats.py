# ruff: noqa: E501 -- what people say in one go is one line
"""Chats whose subjects have names that a person would accept, to judge labels by.

Lines as in `chats`. Beside each chat, for each subject, the names that a person would accept.
Two of them with `&` between are accepted too.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedChat:
    """A chat, and the names that each of its subjects may have, lower-cased, commas between."""

    text: str
    names: dict[str, str]


HOUSEHOLD = NamedChat(
    """
heat     u: Our old gas boiler is giving up and I'm thinking about a heat pump. Would it even work with normal radiators?
heat     a: Usually yes, if the radiators are large enough to warm the rooms at 50 degrees flow temperature. Try your boiler at that setting on a freezing day.
heat     u: The upstairs bedroom stayed chilly at 50. What now?
heat     a: Swap that one radiator for a larger one; a heat pump likes big surfaces and low flow temperatures.
heat     u: How loud is the outdoor unit of a heat pump?
heat     a: Around 50 dB at one metre, so keep it three metres from the neighbour's window. Night mode quietens the fan.
heat     u: Is there any subsidy for replacing the gas boiler?
heat     a: Most regions pay a grant of about a third of the price if the application goes in before the order.
cat      u: Changing the subject completely: we adopted a cat from the shelter and she hides under the sofa all day.
cat      a: Give the cat a quiet room with her litter box, food and a blanket, and let her come to you.
cat      u: She won't touch the litter box in the hallway.
cat      a: Cats want privacy. Move the box away from the traffic, fill it with unscented litter and scoop daily.
cat      u: Which vaccinations does an indoor cat need?
cat      a: Panleukopenia and cat flu as a core; rabies only if she travels. The vet repeats them every three years.
cat      u: And how do I introduce her to the neighbour's cat later?
cat      a: Swap blankets first so each knows the other's smell, then let the cats meet through a gate.
car      u: I have to sell my car, a 2014 Skoda with 160,000 km. Dealer or private?
car      a: A private buyer pays ten to fifteen percent more, a dealer takes the car today and bears the risk.
car      u: Which papers does the buyer get from me?
car      a: Registration document, inspection report, service book and both keys; sign a sales contract and keep a copy.
car      u: Should I have the scratch in the car door repaired before?
car      a: Polish it, but skip a respray: the buyer won't pay you back for it.
car      u: Somebody wants a test drive on Sunday. Is my insurance enough?
car      a: Check that the policy covers other drivers, look at the licence, and ride along.
""",
    {
        "heat": "heat pump, heat pumps, gas boiler, boiler, boiler replacement, radiators, radiator, flow temperature, heating, heat pump boiler, boiler heat pump, outdoor unit, heat pump radiators, heat pump subsidy",
        "cat": "cat, cats, litter box, indoor cat, shelter cat, cat litter, cat shelter, cat box, cat adoption, cat litter box, shelter",
        "car": "car, car sale, private buyer, buyer, dealer, car buyer, skoda, car dealer, car contract, sales contract, car papers, car insurance",
    },
)

ENGINEERING = NamedChat(
    """
k8s      u: Our pods on Kubernetes get OOMKilled every few hours. Where do I start?
k8s      a: Compare the memory limit with the working set: kubectl top pod, then look at the container's limit in the deployment.
k8s      u: The limit is 512Mi and the Java heap takes 75 percent of it.
k8s      a: The JVM needs room beside its heap. Raise the limit to 768Mi or lower MaxRAMPercentage to 60.
k8s      u: Can Kubernetes move the pods to another node before that happens?
k8s      a: Eviction is for pressure on the node; a limit that a pod exceeds always kills the container.
k8s      u: So would an autoscaler help?
k8s      a: A vertical autoscaler suggests better limits for each deployment. The horizontal one only adds pods.
css      u: Frontend question. My CSS grid overflows on mobile when a card holds a long URL.
css      a: Grid tracks have a minimum of auto. Write minmax(0, 1fr), and give the card overflow-wrap: anywhere.
css      u: How do I get two columns on tablets without media queries?
css      a: repeat(auto-fit, minmax(18rem, 1fr)): the grid makes as many columns as fit.
css      u: The cards in one row have different heights, footers don't line up.
css      a: Use subgrid for the rows of each card, so that headers and footers share the grid's tracks.
css      u: And is subgrid safe in browsers by now?
css      a: Yes, all current browsers have it; older ones fall back to cards of their own height.
rust     u: I'm porting a parser to Rust and the borrow checker hates my tree with parent pointers.
rust     a: Keep all nodes in a Vec and let parents be indices; the arena owns everything, so no borrow outlives it.
rust     u: Doesn't an index lose the lifetime guarantees that Rust is about?
rust     a: A stale index gives the wrong node, not undefined behaviour. Generational indices catch even that.
rust     u: How do I return an iterator over the children from the parser?
rust     a: Return impl Iterator with the lifetime of the arena, the borrow checker then knows that both live together.
rust     u: Compile times are terrible, by the way.
rust     a: cargo check while you write, a faster linker, and split the Rust crate so that the parser stands alone.
audit    u: Next, our SOC 2 audit. What evidence do the auditors ask for about access reviews?
audit    a: A list of accounts for each system, who reviewed it, when, and the tickets that removed access.
audit    u: Quarterly or yearly?
audit    a: Quarterly for production, twice a year is accepted elsewhere. The policy must say so, and the audit compares.
audit    u: We have no written policy for laptops yet.
audit    a: Write two pages: disk encryption, screen lock, updates. Auditors sample five laptops and compare them with the policy.
audit    u: How long does such an audit take?
audit    a: Type I about a month; Type II watches your controls for three to twelve months.
""",
    {
        "k8s": "kubernetes, kubernetes pods, kubernetes pod, pods, pod, memory limit, memory limits, pod limit, pod limits, kubernetes limit, kubernetes limits, kubernetes memory, pod memory, limits, container limit, container limits, kubernetes autoscaler, vertical autoscaler, memory",
        "css": "css grid, css, grid, grid cards, subgrid, cards, grid columns, css subgrid, css cards, css columns, columns, grid tracks, grid layout, css grid cards",
        "rust": "rust, borrow checker, rust parser, parser, rust borrow checker, arena, rust arena, rust crate, rust borrow",
        "audit": "soc 2 audit, soc audit, audit, access reviews, auditors, audit evidence, audit policy, policy, access review, audit access, audit reviews, written policy, soc",
    },
)

PERSONAL = NamedChat(
    """
wed      u: We're getting married in September and I need help with the wedding budget. Ninety guests, 15,000 pounds.
wed      a: Venue and food take half, so about 80 pounds a guest. Keep ten percent aside for what nobody thought of.
wed      u: Is a buffet cheaper than a seated dinner?
wed      a: Slightly, since fewer waiters are needed, but guests eat more. A late wedding with a buffet saves most.
wed      u: How early do invitations go out?
wed      a: Save-the-date cards half a year ahead, invitations three months before the wedding with a reply date.
wed      u: My aunt insists on bringing four extra guests.
wed      a: Blame the venue: it has a fixed number of seats. Offer her a place at the party after dinner.
knee     u: Something else, my knee hurts when I walk down stairs since I took up running.
knee     a: That sounds like runner's knee: the kneecap is irritated. Run less for two weeks and avoid downhill.
knee     u: Which exercises help the knee?
knee     a: Wall sits, side steps with a band and slow step-downs, three times a week. Strong hips guide the kneecap.
knee     u: Are my running shoes to blame?
knee     a: Perhaps; after 700 km the foam is tired. New shoes help, but the hips matter more for the knee.
knee     u: When should I see a doctor?
knee     a: If the knee swells, locks or wakes you at night, see a doctor this week.
spanish  u: I'd like to learn Spanish before we move to Valencia. Is an app enough?
spanish  a: An app gives you vocabulary; for speaking you need a person. Book a tutor for two lessons a week.
spanish  u: How do I remember whether to use ser or estar?
spanish  a: Ser is for what something is, estar for how or where it is. Learn them with ten example sentences in Spanish.
spanish  u: The subjunctive scares me.
spanish  a: Start with fixed phrases such as espero que and quiero que; the subjunctive follows from Spanish wishes.
spanish  u: Any podcasts for beginners?
spanish  a: Slow news podcasts with transcripts are best: listen, read, then repeat the Spanish vocabulary aloud.
camera   u: And I want a camera for the honeymoon. My phone is fine by day but poor at dusk.
camera   a: A mirrorless camera with an f/1.8 lens gathers ten times the light of a phone.
camera   u: Which lens would you take if it's only one?
camera   a: A 35 mm lens: wide enough for streets, close enough for portraits.
camera   u: Do I need a tripod?
camera   a: With a stabilised camera and that lens you can hold half a second by hand, so leave the tripod at home.
""",
    {
        "wed": "wedding, wedding budget, wedding guests, guests, wedding buffet, venue, wedding venue, wedding invitations, buffet, wedding dinner, budget",
        "knee": "knee, runner's knee, running shoes, knee pain, knee exercises, running, knee running, kneecap, knee doctor",
        "spanish": "spanish, spanish vocabulary, subjunctive, spanish lessons, spanish subjunctive, spanish app, vocabulary, spanish podcasts, spanish tutor, ser or estar, spanish phrases, podcasts",
        "camera": "camera, camera lens, mirrorless camera, lens, tripod, camera tripod, honeymoon camera",
    },
)

GERMAN = NamedChat(
    """
rad      u: Ich möchte mein altes Fahrrad für eine Tour herrichten. Die Kette springt beim Schalten.
rad      a: Miss die Kette mit einer Lehre. Ist sie gelängt, tausche Kette und Kassette zusammen aus.
rad      u: Woran erkenne ich, dass die Bremsbeläge fällig sind?
rad      a: Sind die Rillen der Bremsbeläge verschwunden, bremst das Fahrrad schlechter und die Felge leidet.
rad      u: Wie stelle ich die Gangschaltung richtig ein?
rad      a: Erst die Anschlagschrauben, dann die Zugspannung in Vierteldrehungen, bis die Kette leise läuft.
rad      u: Welches Öl nehme ich für die Kette?
rad      a: Ein dünnes Kettenöl, sparsam auf jedes Glied, und überschüssiges Öl mit einem Lappen abwischen.
steuer   u: Jetzt etwas Trockenes: die Steuererklärung. Kann ich mein Arbeitszimmer absetzen?
steuer   a: Ja, wenn es der Mittelpunkt deiner Arbeit ist; sonst gilt die Pauschale für jeden Tag zu Hause.
steuer   u: Welche Belege will das Finanzamt sehen?
steuer   a: Belege reichst du nur auf Nachfrage ein, aber das Finanzamt darf sie noch Jahre später verlangen.
steuer   u: Bis wann muss die Steuererklärung abgegeben sein?
steuer   a: Ohne Beratung bis Ende Juli, danach setzt das Finanzamt einen Zuschlag fest.
steuer   u: Lohnt sich ein Steuerberater für Angestellte?
steuer   a: Selten. Mit Arbeitszimmer und Fahrtkosten reicht ein gutes Programm für die Steuererklärung.
hund     u: Wir bekommen einen Welpen. Wie wird er stubenrein?
hund     a: Bring den Welpen nach jedem Schlafen, Fressen und Spielen hinaus und lobe ihn sofort.
hund     u: Er beißt ständig in die Hände.
hund     a: Brich das Spiel ab, sobald der Welpe beißt, und biete ihm ein Spielzeug an.
hund     u: Ab wann darf der Welpe allein bleiben?
hund     a: Übe ab der zwölften Woche mit wenigen Minuten; mit einem halben Jahr schafft ein Hund zwei Stunden.
hund     u: Was kostet die Hundeschule?
hund     a: Ein Kurs mit acht Stunden in der Hundeschule kostet um die 150 Euro, für Welpen oft weniger.
""",
    {
        "rad": "fahrrad, kette, gangschaltung, bremsbeläge, fahrradtour, kettenöl, kassette, tour",
        "steuer": "steuererklärung, arbeitszimmer, finanzamt, belege, steuerberater",
        "hund": "welpe, welpen, hund, hundeschule",
    },
)

FRENCH = NamedChat(
    """
pain     u: J'aimerais faire mon pain au levain moi-même. Comment démarrer un levain ?
pain     a: Mélange de la farine de seigle et de l'eau à parts égales, et rafraîchis le levain chaque jour pendant une semaine.
pain     u: Mon pain reste plat à la cuisson.
pain     a: Le levain manque de force, ou la pâte a trop fermenté. Enfourne le pain quand la pâte a gagné la moitié de son volume.
pain     u: Quelle farine choisir pour la pâte ?
pain     a: Une farine de blé T65 pour commencer, avec un peu de seigle pour le goût.
pain     u: Comment obtenir une croûte bien croustillante ?
pain     a: De la vapeur pendant les quinze premières minutes, puis un four sec ; laisse refroidir le pain sur une grille.
demenage u: Autre chose : notre déménagement à Lyon en juin. Faut-il prendre des déménageurs ?
demenage a: Pour un trois-pièces, compte 1 500 euros avec des déménageurs, 400 en louant un camion.
demenage u: Combien de cartons faut-il pour le déménagement ?
demenage a: Environ vingt cartons par pièce, plus des cartons à livres, petits et solides.
demenage u: Comment réserver une place pour le camion ?
demenage a: Demande une autorisation de stationnement à la mairie de Lyon trois semaines avant le déménagement.
demenage u: Et l'état des lieux ?
demenage a: Prends des photos de chaque pièce, relève les compteurs et signe l'état des lieux avec le propriétaire.
velo     u: Je voudrais acheter un vélo électrique pour aller au travail. Quelle autonomie faut-il ?
velo     a: Avec une batterie de 500 Wh, un vélo électrique fait 60 à 80 km ; c'est assez pour une semaine de trajets.
velo     u: La batterie tient-elle l'hiver ?
velo     a: Elle perd un quart de son autonomie par grand froid ; garde la batterie à l'intérieur.
velo     u: Quel antivol pour le vélo ?
velo     a: Un antivol en U homologué, attaché au cadre, et un second pour la roue avant.
velo     u: Existe-t-il une aide pour l'achat d'un vélo ?
velo     a: Oui, la région verse une prime ; garde la facture du vélo et demande-la sous six mois.
""",
    {
        "pain": "pain, pain au levain, levain, farine, pâte, croûte, farine de seigle, farine de blé",
        "demenage": "déménagement, déménagement à lyon, cartons, déménageurs, lyon, camion, état des lieux",
        "velo": "vélo, vélo électrique, batterie, antivol, autonomie",
    },
)

SPANISH = NamedChat(
    """
huerto   u: Quiero montar un huerto urbano en la terraza. ¿Qué puedo plantar en macetas?
huerto   a: Lechugas, rábanos y tomates cherry van bien en macetas; las tomateras necesitan veinte litros de tierra.
huerto   u: ¿Cada cuánto riego el huerto en verano?
huerto   a: Por la tarde todos los días, o instala un riego por goteo con programador.
huerto   u: Las hojas de los tomates tienen pulgón.
huerto   a: Rocía jabón potásico al anochecer durante tres días; las mariquitas también ayudan en el huerto.
huerto   u: ¿Cuándo se cosechan los tomates?
huerto   a: Cuando se desprenden con un leve giro, hacia finales de julio.
hipoteca u: Otro tema: vamos a pedir una hipoteca. ¿Fija o variable?
hipoteca a: Una hipoteca fija da tranquilidad; la variable empieza más barata, pero depende del euríbor.
hipoteca u: ¿Qué gastos hay además de la entrada?
hipoteca a: Notaría, registro, gestoría e impuestos: calcula un diez por ciento del precio de la vivienda.
hipoteca u: ¿El banco puede obligarme a contratar un seguro?
hipoteca a: Solo el de incendio. Los demás seguros rebajan el interés de la hipoteca, compara lo que cuestan.
hipoteca u: ¿Cuánto tarda el banco en aprobar la hipoteca?
hipoteca a: De cuatro a seis semanas desde la tasación de la vivienda.
camino   u: En mayo haré el Camino de Santiago desde Sarria. ¿Cuántas etapas son?
camino   a: Cinco o seis etapas de unos veinte kilómetros hasta Santiago.
camino   u: ¿Hay que reservar albergue?
camino   a: En mayo los albergues públicos no admiten reserva; los privados del Camino sí, y conviene en Arzúa.
camino   u: ¿Qué llevo en la mochila?
camino   a: Como mucho el diez por ciento de tu peso: dos mudas, chubasquero, sandalias y tiritas en la mochila.
camino   u: ¿Dónde me dan la credencial?
camino   a: En la catedral, en los albergues y en las asociaciones; séllala dos veces al día en los últimos cien kilómetros del Camino.
""",
    {
        "huerto": "huerto, huerto urbano, macetas, tomates, riego por goteo, riego, terraza, tomates cherry",
        "hipoteca": "hipoteca, hipoteca fija, banco, vivienda, gastos",
        "camino": "camino, camino de santiago, santiago, etapas, albergue, albergues, mochila, sarria",
    },
)

CHINESE = NamedChat(
    """
sleep    u: 最近总是失眠，躺下两个小时都睡不着，怎么办？
sleep    a: 失眠的时候先起床，在昏暗的灯光下看书，困了再回床上。睡前一小时不要看手机。
sleep    u: 褪黑素对失眠有用吗？
sleep    a: 褪黑素适合倒时差，对长期失眠效果有限，固定的作息更重要。
sleep    u: 下午喝咖啡会影响睡眠吗？
sleep    a: 会的，咖啡因的半衰期有五个小时，中午以后就别喝了，睡眠质量会好很多。
invest   u: 另外想请教理财：每个月有三千块闲钱，指数基金怎么定投？
invest   a: 选一只宽基指数基金，每月发工资那天自动定投，坚持五年以上。
invest   u: 指数基金的手续费高不高？
invest   a: 管理费每年百分之零点五以内算合理，场外定投注意申购手续费打折。
invest   u: 市场跌了还要继续定投吗？
invest   a: 下跌时定投能买到更多份额，前提是这笔钱三年内用不到。
baby     u: 我家宝宝六个月了，辅食从什么开始加？
baby     a: 先加高铁米粉，每天一次，观察三天没有过敏再加蔬菜泥。
baby     u: 宝宝不爱吃辅食怎么办？
baby     a: 换个时间再试，让宝宝自己抓着吃，不要强迫，辅食的口味保持清淡。
baby     u: 辅食里可以放盐吗？
baby     a: 一岁以前的辅食不放盐，宝宝的肾还没有发育好。
router   u: 家里的打印机连不上无线网络，电脑上显示脱机。
router   a: 先重启打印机，再确认打印机和电脑连的是同一个无线网络。
router   u: 重启以后还是脱机。
router   a: 把旧的驱动程序删掉，到官网下载新的驱动程序，再重新添加打印机。
router   u: 打印机打出来的纸有一道一道的白线。
router   a: 喷头堵了，在打印机菜单里运行两次喷头清洗。
""",
    {
        "sleep": "失眠, 睡眠, 褪黑素, 睡眠质量, 长期失眠, 失眠问题",
        "invest": "指数基金, 基金, 定投, 指数基金定投, 理财, 基金定投",
        "baby": "辅食, 宝宝, 宝宝辅食",
        "router": "打印机, 无线网络, 驱动程序, 喷头",
    },
)

ITALIAN = NamedChat(
    """
pasta    u: Vorrei fare la pasta fresca in casa. Quante uova servono per la sfoglia?
pasta    a: Un uovo ogni cento grammi di farina; impasta dieci minuti e lascia riposare la pasta fresca mezz'ora.
pasta    u: La sfoglia si rompe quando la stendo.
pasta    a: L'impasto è asciutto: bagnati le mani, e tira la sfoglia poco alla volta con il mattarello.
pasta    u: Posso congelare la pasta?
pasta    a: Sì, stendi la pasta fresca su un vassoio, congelala e cuocila senza scongelarla.
sicilia  u: Passiamo al viaggio in Sicilia a giugno. Meglio Palermo o Catania come base?
sicilia  a: Catania per l'Etna e Siracusa, Palermo per i mercati e Cefalù; in dieci giorni vedi tutte e due.
sicilia  u: Serve un'auto a noleggio in Sicilia?
sicilia  a: Per le spiagge e l'interno sì; tra Palermo e Catania va bene il treno.
sicilia  u: Si può salire sull'Etna con i bambini?
sicilia  a: Con la funivia fino a 2500 metri; più su solo con una guida dell'Etna.
chitarra u: Un'altra cosa: studio chitarra da un mese e mi fanno male le dita.
chitarra a: È normale; esercizi brevi, corde leggere sulla chitarra, e in tre settimane si formano i calli.
chitarra u: Come cambio più in fretta gli accordi?
chitarra a: Un minuto con il metronomo per ogni coppia di accordi, contando i cambi puliti.
chitarra u: Che canzoni posso suonare con tre accordi?
chitarra a: Molte canzoni popolari vanno con sol, do e re: suonale piano con la chitarra e il metronomo.
""",
    {
        "pasta": "pasta, pasta fresca, sfoglia, impasto, uova",
        "sicilia": "sicilia, viaggio in sicilia, palermo, catania, etna",
        "chitarra": "chitarra, accordi, canzoni, corde",
    },
)

NAMED_CHATS = {
    "household": HOUSEHOLD,
    "engineering": ENGINEERING,
    "personal": PERSONAL,
    "German": GERMAN,
    "French": FRENCH,
    "Spanish": SPANISH,
    "Chinese": CHINESE,
    "Italian": ITALIAN,
}


def is_accepted(label: str, names: str) -> bool:
    """Whether a person would accept the label, and not only its words."""
    accepted = names.split(", ")
    return all(part in accepted for part in label.casefold().split(" & "))
