"""A vault of short notes, and the notes that somebody would want for a topic."""

NOTES = {
    "Garden/Tomatoes.md": "# Tomatoes\n"
    "Sow indoors in March, plant out after the last frost. Pinch out side shoots and "
    "water at the base, never over the leaves.",
    "Garden/Compost.md": "# Compost\n"
    "Two parts brown to one part green. Turn it every other week; it is ready when it"
    " smells of forest floor.",
    "Garden/Pruning.md": "# Pruning\n"
    "Roses in March, apple trees in February on a frost-free day. Cut just above a "
    "bud that faces outwards.",
    "Kitchen/Sourdough.md": "# Sourdough\n"
    "Feed the starter twice the day before. 75 % hydration, fold four times, "
    "overnight in the cold, bake in a hot pot.",
    "Kitchen/Pasta.md": "# Fresh pasta\n"
    "100 g flour and one egg each. Rest for half an hour, roll thin, cook for two "
    "minutes.",
    "Kitchen/Knives.md": "# Knives\n"
    "Whetstone 1000 then 3000 grit, fifteen degrees. Never in the dishwasher.",
    "Health/Running plan.md": "# Running plan\n"
    "Three times a week, one long and slow at the weekend. Ten percent more distance "
    "each week, every fourth week easy.",
    "Health/Sleep.md": "# Sleep\n"
    "No screens after ten, cool bedroom, same time each morning. Coffee only before "
    "noon.",
    "Health/Vaccinations.md": "# Vaccinations\n"
    "Tetanus due in 2027, tick-borne encephalitis every five years, flu each autumn.",
    "Money/Budget.md": "# Budget\n"
    "Rent 900, food 350, savings 400. The annual insurance comes in January, so set "
    "aside 60 a month.",
    "Money/Index funds.md": "# Index funds\n"
    "One world fund, bought monthly, rebalanced once a year. Low fees matter more "
    "than the choice of the day.",
    "Money/Tax return.md": "# Tax return\n"
    "Home office days, commuting distance, donations, receipts of craftsmen. Deadline"
    " end of July.",
    "Work/Kubernetes.md": "# Cluster\n"
    "Rolling deploys with kubectl, readiness probes on every pod, limits for memory. "
    "Helm charts are in the infra repository.",
    "Work/Postgres.md": "# Postgres\n"
    "Vacuum settings, indexes on foreign keys, a replica for reports. Upgrade by "
    "logical replication.",
    "Work/Code review.md": "# Code review\n"
    "Small changes, one reason each. Comment on the code, not on its author; ask "
    "before you tell.",
    "Work/Interviews.md": "# Interviews\n"
    "Two people ask, one writes. Same questions for every candidate; scores before "
    "the discussion.",
    "Home/Heat pump.md": "# Heat pump\n"
    "Flow temperature 38 degrees, curve 0.6. Filter in spring; the defrost cycle is "
    "loud but normal.",
    "Home/Bicycle.md": "# Bicycle\n"
    "Chain every 3,000 km, brake pads when the groove is gone, 4 bar in the tyres.",
    "Travel/Lisbon.md": "# Lisbon\n"
    "Tram 28 before nine. Fado in Alfama, custard tarts in Belem; the hills need good"
    " shoes.",
    "Travel/Packing.md": "# Packing list\n"
    "Passport, chargers, rain jacket, medicine, a copy of the tickets.",
    "Music/Cello.md": "# Cello\n"
    "Scales in thumb position, bow close to the bridge, Bach's first suite by heart "
    "until May.",
    "Reading/Le Guin.md": "# Le Guin\n"
    "The Dispossessed: two worlds, a wall, an idea of property. Notes for the book "
    "club.",
    "日记/成都.md": "# 成都旅行\n去人民公园喝茶，看大熊猫，吃火锅。四月天气很好。",
    "日记/钢琴.md": "# 钢琴练习\n每天练琴半小时，音阶和车尔尼。",
}

WANTED = [
    ("sourdough starter", "Kitchen/Sourdough.md"),
    ("tomato seedlings", "Garden/Tomatoes.md"),
    ("postgres index", "Work/Postgres.md"),
    ("running distance", "Health/Running plan.md"),
    ("code review", "Work/Code review.md"),
    ("成都火锅", "日记/成都.md"),
    ("钢琴", "日记/钢琴.md"),
    # No word of these is in the note.
    ("baking bread", "Kitchen/Sourdough.md"),
    ("investing in the stock market", "Money/Index funds.md"),
    ("insomnia", "Health/Sleep.md"),
    ("marathon training", "Health/Running plan.md"),
    ("recruiting new colleagues", "Work/Interviews.md"),
    ("holiday in Portugal", "Travel/Lisbon.md"),
    ("learning a string instrument", "Music/Cello.md"),
    ("container orchestration", "Work/Kubernetes.md"),
    ("immunisation schedule", "Health/Vaccinations.md"),
    ("warming the house in winter", "Home/Heat pump.md"),
    ("science fiction novels", "Reading/Le Guin.md"),
    ("sharpening blades", "Kitchen/Knives.md"),
    ("trimming fruit trees", "Garden/Pruning.md"),
]
"""Topics, and the note that is nearest to each."""

UNRELATED = ["quantum chromodynamics", "football transfer rumours", "medieval castles", "股票"]
"""Topics about which the vault says nothing."""
