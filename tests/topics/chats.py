# ruff: noqa: E501 -- what people say in one go is one line
"""Chats to try topics on: each line has its subject; `u` and `a` tell who speaks."""

from smart_context.chat.messages import Message, MessageId

SIX_SUBJECTS = """
-        u: Hi! Please keep your answers short in this chat, and always use metric units.
-        a: Will do: short answers, metric units.
bike     u: I want to tour the Danube by bicycle from Passau to Vienna this summer. How long does it take?
bike     a: About 330 km. At 55 km a day you need six days, seven with a rest day in Linz.
bike     u: Which side of the river has the better cycle path?
bike     a: The left bank up to Linz, then the right bank; ferries for cyclists cross every few kilometres.
bike     u: Do I need to book guesthouses ahead?
bike     a: In July and August yes, Bett+Bike houses fill up by noon. Off season you can ride and knock.
bike     u: What about luggage?
bike     a: Two rear panniers are enough, or pay a carrier some 90 euros to move your suitcase between stages.
python   u: Something else: my Python script reads a 6 GB CSV with pandas and runs out of memory.
python   a: Read it in chunks with chunksize, or use usecols and dtype to load only what you need.
python   u: I have to group by customer and sum the amounts.
python   a: Aggregate each chunk by customer, then concatenate the partial sums and group once more.
python   u: Would polars be faster?
python   a: Yes. polars.scan_csv with streaming does the group-by lazily and stays below 1 GB of memory.
python   u: How do I profile where the memory goes?
python   a: memray run script.py, then memray flamegraph on the result shows which allocation is the largest.
python   u: It was an object column full of repeated strings.
python   a: Cast it to category, pandas then stores every string once and the frame shrinks tenfold.
garden   u: Now the garden. My tomato leaves turn yellow from the bottom up.
garden   a: Likely a lack of nitrogen or too wet soil. Feed with nettle manure and let the soil dry between waterings.
garden   u: There are brown spots with rings on them too.
garden   a: That is early blight. Take the leaves off, mulch the soil and water at the root only.
garden   u: Can I still eat the tomatoes?
garden   a: Yes, fruit without spots is fine.
garden   u: What should I plant in that bed next year?
garden   a: Beans or lettuce; no potatoes, peppers or tomatoes there for three years.
garden   u: And slugs eat my young lettuce every night.
garden   a: Set a beer trap, collect slugs at dusk, and water in the morning so that the bed is dry at night.
tax      u: Different question: as a freelancer, do I have to charge VAT when my client sits in France?
tax      a: For a business client the reverse charge applies: invoice without VAT and note both VAT numbers.
tax      u: How do I check that their VAT number is valid?
tax      a: Look it up in the VIES database of the EU and keep a print of the answer with the invoice.
tax      u: Can I deduct my home office?
tax      a: Yes, a share of the rent by floor area if the room is used for work only, or a daily flat rate.
tax      u: When is the tax return due?
tax      a: At the end of July; with a tax adviser you have until the end of February of the year after.
tax      u: What records must I keep, and for how long?
tax      a: Invoices and bank statements for ten years, business letters for six.
guitar   u: I started to learn the guitar. My fingers hurt when I press the F chord.
guitar   a: Barre chords take weeks. Roll the index finger on its side and bring the elbow closer to your body.
guitar   u: Are lighter strings easier?
guitar   a: Yes, try a set of 10s; and have the action lowered, many new guitars come with strings too high.
guitar   u: How should I practise chord changes?
guitar   a: One-minute drills: count how often you change between two chords with a metronome running.
guitar   u: Which songs have only three chords?
guitar   a: Three Little Birds, Bad Moon Rising and Ring of Fire: all G, C and D or A, D and E.
guitar   u: Do I have to learn sheet music?
guitar   a: Not at first; tablature and a good ear carry you far on the guitar.
sleep    u: Lately I wake up at three in the night and can't fall asleep again.
sleep    a: Get up after twenty minutes, read something dull in dim light, go back to bed when drowsy.
sleep    u: Does coffee in the afternoon matter?
sleep    a: Yes, caffeine has a half-life of five hours. Stop at noon for two weeks and see.
sleep    u: And a glass of wine helps me to doze off.
sleep    a: Alcohol makes you drowsy but breaks up the second half of the night: that fits your three o'clock.
sleep    u: Would melatonin help?
sleep    a: It shifts the body clock, for waking at night it does little. Regular bedtimes do more.
"""

CHINESE = """
-        u: 你好，请在这次对话里一直用简体中文回答，并且尽量简短。
-        a: 好的，我会用简体中文简短回答。
beijing  u: 我打算十月去北京旅行五天，有什么推荐的景点？
beijing  a: 故宫、长城、颐和园和天坛都值得去，故宫门票要提前七天预约。
beijing  u: 去长城坐什么车最方便？
beijing  a: 去八达岭长城可以坐高铁，半个小时就到；慕田峪长城游客少一些。
beijing  u: 住在哪个区比较好？
beijing  a: 住在前门或者王府井附近，坐地铁去各个景点都方便，酒店价格也合适。
cook     u: 换个话题，红烧肉怎么做才不腻？
cook     a: 五花肉先焯水，再小火煸出油，加冰糖炒糖色，然后加黄酒和酱油慢炖一小时。
cook     u: 没有黄酒可以用什么代替？
cook     a: 可以用啤酒或者料酒代替，五花肉一样会很香。
cook     u: 炖肉的时候加多少水？
cook     a: 热水没过五花肉就行，最后大火收汁，红烧肉的颜色才会发亮。
python   u: 我的Python程序读取数据库很慢，怎么优化？
python   a: 先看查询有没有用到索引，再用连接池，避免在循环里一条一条地查询数据库。
python   u: 怎么知道查询有没有用索引？
python   a: 在SQL语句前面加上EXPLAIN，数据库会显示执行计划和使用的索引。
python   u: 连接池在Python里怎么配置？
python   a: 用SQLAlchemy的create_engine，设置pool_size和max_overflow两个参数就可以配置连接池。
"""

GERMAN = """
-        u: Hallo! Bitte antworte ab jetzt immer auf Deutsch und duze mich.
-        a: Gern, ich antworte auf Deutsch und duze dich.
mortgage u: Wir wollen ein Haus kaufen. Wie viel Eigenkapital brauchen wir für die Bank?
mortgage a: Mindestens die Nebenkosten, also rund zehn Prozent, besser zwanzig Prozent des Kaufpreises als Eigenkapital.
mortgage u: Welche Zinsbindung empfiehlst du für das Darlehen?
mortgage a: Bei niedrigen Zinsen fünfzehn Jahre Zinsbindung; nach zehn Jahren darfst du das Darlehen ohnehin kündigen.
mortgage u: Und was kostet der Notar?
mortgage a: Notar und Grundbuch kosten zusammen etwa anderthalb bis zwei Prozent des Kaufpreises.
bread    u: Anderes Thema: Mein Brot mit Sauerteig geht im Ofen nicht auf.
bread    a: Der Sauerteig ist wohl zu jung. Füttere ihn zweimal am Tag, bis er sich in sechs Stunden verdoppelt.
bread    u: Wie lange soll der Teig gehen?
bread    a: Bei 24 Grad etwa vier Stunden Stockgare, danach eine Stunde im Gärkorb oder über Nacht im Kühlschrank.
bread    u: Die Kruste wird nicht knusprig.
bread    a: Backe das Brot mit viel Dampf bei 250 Grad an und die letzten zehn Minuten ohne Dampf.
run      u: Ich trainiere für meinen ersten Marathon. Wie viele Kilometer pro Woche soll ich laufen?
run      a: Steigere auf fünfzig bis sechzig Kilometer pro Woche, mit einem langen Lauf von bis zu 32 Kilometern.
run      u: Mein Knie tut nach dem langen Lauf weh.
run      a: Verkürze den Lauf, prüfe die Laufschuhe und kräftige die Hüfte; bei Schwellung geh zum Arzt.
run      u: Was esse ich am Tag vor dem Marathon?
run      a: Viele Kohlenhydrate, Nudeln oder Reis, wenig Fett, und trinke über den Tag verteilt genug Wasser.
"""


def chat(text):
    """Messages `m1`, `m2`, … and the subject of each; `-` for those that have none."""
    messages, subjects = [], []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        subject, role, said = line.split(maxsplit=2)
        role = {"u:": "user", "a:": "assistant"}[role]
        messages.append(Message(id=MessageId(f"m{number}"), role=role, content=said))
        subjects.append(subject)
    return messages, subjects
