"""The words questions are made of: what they compute, compare, group and rank by. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.analyst.goal.vocabulary import SYNONYMS, words_in

# ── what words mean of the data ──

REVENUE: Final = words_in(
    "revenue sale sales turnover umsatz umsatze erlos erlose income earning earnings takings money geld gmv sell",
    "sells sold selling verkauft verkaufen verkauf earn earns earned spend spends spent spending bestseller",
    "bestsellers bestselling monetary proceeds",
)
"""What was taken for what was sold."""
REVENUE_VERBS: Final = words_in(
    "sell sells sold selling verkauft verkaufen earn earns earned spend spends spent spending bestseller",
    "bestsellers bestselling",
)
PRICE: Final = words_in("price prices pricing preis preise expensive cheap cheaper cheapest")
COST: Final = words_in("cost costs kosten expense expenses ausgaben ausgabe")
PROFIT: Final = words_in("profit profits gewinn margin margins marge profitable profitability earnings_before roi")
MONEY_NAMES: Final = words_in(
    "amount revenue sale turnover umsatz erlos paid payment betrag total value sum price preis cost kosten income",
    "fee charge spend budget salary wage gehalt lohn money eur usd gbp euro dollar",
)
"""Parts of columns' names that tell of money."""
MEAN_MONEY: Final = words_in("price preis rate salary wage gehalt lohn tariff income fare rent miete")
"""Money of which a sum says nothing."""
CURRENCY_WORDS: Final = words_in("euro euros eur dollar dollars usd pound pounds gbp chf franc francs bucks")
PIECES: Final = words_in(
    "piece pieces unit units quantity quantities qty stuck menge stuckzahl items item things article",
)
PIECE_NAMES: Final = words_in("quantity qty piece unit menge stuck stuckzahl item anzahl")
ADDED_UP: Final = PIECE_NAMES | words_in(
    "count visitor visit click view sold energy kwh mwh order sale passenger besucher impression download hit",
    "score_sum rain rainfall precipitation emission volume mileage",
)
"""Parts of names of measures of which a sum is asked for, unless the goal says otherwise."""
ROWS: Final = words_in(
    "row rows record records entry entries reading readings measurement measurements observation observations line",
    "lines datapoint datapoints transaction transactions purchase purchases case cases zeilen eintrage messung",
    "messungen datensatze",
)
"""What rows are called, whatever is in them."""
EVENTS: Final = words_in(
    "ordered bought purchased purchase buy buys buying placed order orders shopped paid pay active bestellt gekauft",
    "bestellen kaufen spent spend",
)
"""What customers do in a table of orders."""
KINDS: Final = words_in("kind kinds type types sort sorts category categories class classes")
THINGS: Final = words_in(
    "flights trips rides journeys games matches races sessions visits calls tickets orders shipments deliveries",
    "accidents incidents crimes fluge fahrten spiele besuche anrufe bestellungen",
)
"""What happens, in plural: a column called like one of them holds its number."""
PEOPLE: Final = words_in("people person persons everyone somebody leute personen")
CARRIERS: Final = words_in(
    "subscriber subscribers user users owner owners holder holders buyer buyers shopper shoppers people ones goods",
    "stuff person persons member members product products item items things channel",
)
"""Nouns that only carry the value or the flag before them: `newsletter subscribers`."""
ARRIVALS: Final = words_in("new joined registered signed registrations neu neue neuen gained acquired")

_CONTENTMENT: Final = "satisfaction rating score happiness nps content recommend"
ADJECTIVES: Final[dict[str, tuple[str, bool]]] = {
    word: (names, is_low)
    for words, names, is_low in (
        ("hot hotter hottest warm warmer warmest heat", "temperature", False),
        ("cold colder coldest cool cooler coolest chilly", "temperature", True),
        ("heavy heavier heaviest weigh weighs weighed", "weight mass gewicht", False),
        ("light lighter lightest", "weight mass gewicht", True),
        ("humid damp dampest moist", "humidity", False),
        ("dry drier driest", "humidity", True),
        ("long longer longest slow slower slowest", "day duration time length minute hour shipping delivery", False),
        ("short shorter shortest", "day duration minute time length hour", True),
        ("fast faster fastest quick quicker quickest", "day duration minute time length hour", True),
        ("old older oldest", "age alter birth_year", False),
        ("young younger youngest", "age alter birth_year", True),
        ("age ages aged alter", "age alter birth_year", True),
        ("tall taller tallest", "height", False),
        ("windy windier windiest", "wind", False),
        ("rainier rainiest wetter wettest", "rain rainfall precipitation", False),
        ("snowier snowiest", "snow snowfall", False),
        ("sunnier sunniest", "sun sunshine", False),
        ("satisfied happy happier happiest pleased content contented", _CONTENTMENT, False),
        ("unhappy unhappiest dissatisfied unsatisfied", _CONTENTMENT, True),
        ("expensive pricey", "price preis cost", False),
        ("cheap cheaper cheapest", "price preis cost", True),
    )
    for word in words.split()
}  # fmt: skip
"""Words that say how something is → the parts of names of measures that they are about, and whether less is more so."""

VALUE_SYNONYMS: Final = (
    words_in("web online internet website"),
    words_in("phone telephone call telefon"),
    words_in("store shop instore"),
    words_in("business firm company corporate b2b enterprise"),
    words_in("private consumer individual b2c"),
    words_in("female woman women"),
    words_in("male man men"),
    words_in("north northern nord norden"),
    words_in("south southern sud suden"),
    words_in("east eastern ost osten"),
    words_in("west western westen"),
    words_in("munich munchen muenchen"),
    words_in("cologne koln koeln"),
    words_in("nuremberg nurnberg nuernberg"),
    words_in("dusseldorf duesseldorf"),
)
NAME_SYNONYMS: Final = (
    *SYNONYMS,
    words_in("quantity qty unit menge anzahl stuck piece stuckzahl"),
    words_in("weight mass gewicht weigh"),
    words_in("shipping delivery lieferung shipment versand"),
    words_in("customer client kunde kunden buyer shopper"),
    words_in("order bestellung bestellungen auftrag auftrage"),
    words_in("satisfaction rating zufriedenheit satisfied"),
    words_in("respondent participant employee colleague"),
    words_in("sex gender geschlecht"),
    words_in("group category gruppe kategorie"),
    words_in("channel kanal"),
    words_in("segment kundensegment"),
    words_in("temperature temperatur temp"),
    words_in("humidity humid luftfeuchtigkeit moisture"),
    words_in("staff employee cashier seller"),
    words_in("fault failure breakdown outage"),
    words_in("maker manufacturer producer brand"),
    words_in("beak bill"),
    words_in("content contentment happiness satisfaction"),
    words_in("site location"),
    words_in("zip postcode zipcode plz"),
    words_in("refund refunded"),
    words_in("answer response reply"),
    words_in("departure dep"),
    words_in("destination dest"),
    words_in("arrival arr"),
    words_in("population pop"),
    words_in("distance dist"),
    words_in("elevation elev"),
    words_in("precipitation precip prcp"),
)

# ── how it is computed ──

MEAN: Final = words_in(
    "average averages avg mean averaged durchschnitt durchschnittlich durchschnittliche durchschnittlicher",
    "durchschnittlichen mittelwert mittlere",
)
MEDIAN: Final = words_in("median typical typically usual usually middle")
SUM: Final = words_in(
    "total totals sum overall altogether combined gesamt summe insgesamt gesamtumsatz cumulative totalled",
)
HIGHEST: Final = words_in(
    "highest maximum max largest biggest greatest peak record strongest longest tallest hottest warmest heaviest",
    "top oldest hochste hochsten hochster grosste grossten maximal",
)
LOWEST: Final = words_in(
    "lowest minimum min smallest shortest weakest coldest coolest lightest fewest least worst bottom youngest",
    "cheapest niedrigste niedrigsten kleinste kleinsten wenigsten schlechteste schwachste minimal",
)
MOST: Final = words_in(
    "most best top highest largest biggest greatest strongest leading busiest meisten beste besten hochste hochsten",
    "grosste grossten starkste more better bestseller bestsellers bestselling common frequent popular prefer",
    "prefers preferred favourite favorite often rank ranking ranked ranks rangliste main maximum max peak",
)
RANKERS: Final = (MOST | LOWEST | HIGHEST) - words_in("more better often record")
COUNTED_MOST: Final = words_in("most fewest least highest lowest maximum minimum meisten wenigsten hochste niedrigste")
"""Behind them stands what is counted, not what is ranked: `most orders`."""
COUNTERS: Final = (
    ("how", "many"),
    ("number", "of"),
    ("wie", "viele"),
    ("count", "of"),
    ("numbers", "of"),
    ("amount", "of"),
)
"""Behind these, too."""
NUMBERED_MOST: Final = words_in("most fewest meisten wenigsten")
"""Of those, the ones that are said of what is counted only."""
DISTINCT: Final = words_in("different distinct unique verschiedene verschiedenen unterschiedliche")
COUNTED_OFTEN: Final = words_in(
    "busiest busy common prefer prefers preferred favourite favorite frequent frequently popular often commonest",
    "haufigste haufigsten oft",
)
SHARE: Final = words_in("share shares percentage percentages percent proportion fraction anteil prozent pct")
WHY: Final = words_in("why reason reasons cause causes caused explain explains because warum wieso weshalb behind")
MOVED: Final = words_in(
    "fall falls fell fallen falling drop drops dropped dropping decline declined declines decrease decreased",
    "decreasing sink sank shrink shrank rise rises rising rose risen increase increases increased increasing grow",
    "grows grew grown growing jump jumped change changes changed changing collapse collapsed slump slumped surge",
    "surged plunge plunged gesunken gefallen gestiegen sinkt steigt ruckgang anstieg gewachsen spike spiked dip",
    "dipped improve improved worsen worsened tank tanked climb climbed lost lose loses gained gain loss",
)
TREND: Final = words_in(
    "trend trends trending evolve evolved evolution develop developed development developing history historical",
    "growth seasonal seasonality season entwicklung verlauf entwickelt entwickelte saison timeline progress",
    "progressed growing",
)
COMPARE: Final = words_in(
    "ratio compare compared compares comparing comparison versus vs than against differ differs difference",
    "differences vergleich vergleiche vergleichen unterschied unterschiede gegenuber higher lower better worse",
)
RELATION: Final = words_in(
    "related relate relates relation relationship correlated correlate correlates correlation correlations depend",
    "depends dependent association associated link linked connected connection relationships zusammenhang zusammen",
    "hangt regression regress",
)
INFLUENCE: Final = words_in(
    "predict affect affects affected influence influences influenced impact impacts effect effects einfluss",
    "beeinflusst matter determine determines determined",
)
DRIVERS: Final = words_in(
    "drive drives driver drivers driving driven drove factor factors predictor predictors predicts treiber explain",
    "explains",
)
OUTLIERS: Final = words_in(
    "outlier outliers anomaly anomalies anomalous unusual unusually extreme extremes strange odd weird abnormal",
    "spikes ausreisser suspicious implausible",
)
QUALITY: Final = words_in(
    "wrong quality problem problems issue issues duplicate duplicates duplicated missing clean dirty error errors",
    "trust trustworthy reliable reliability plausible complete completeness broken gaps nulls null invalid",
    "inconsistent inconsistencies inconsistency sauber qualitat fehler dubletten vollstandig fehlende messy",
    "incomplete mistakes",
)
OVERVIEW: Final = words_in(
    "overview summary summarise summarize summarised explore exploration describe description insight insights",
    "analyse analyze analysis analysing analyzing understand profile matters interesting important uberblick",
    "zusammenfassung zusammenfassen beschreibe auswerten analysiere highlights findings everything takeaways stands",
    "eda",
)
DISTRIBUTION: Final = words_in(
    "distribution distributed spread histogram mix composition verteilung vary variation varies range",
)

# ── how words are joined ──

ARTICLES: Final = words_in(
    "the a an our my your their its his her this these that those all any some der die das den dem des ein eine",
    "einen einer unser unsere unserer each every individual single of own same s different various respective main",
)
GROUPERS: Final = words_in(
    "by per each every across among which je nach pro welche welcher welches jede jeder jedes whose who wer",
)
NEGATORS: Final = words_in(
    "without excluding exclude except not excludes ohne ignoring excl non minus ausser outside nicht never no",
)
VAGUE: Final = words_in(
    "late early old new recent big small large high low good bad strong weak short long normal valuable frequent",
    "important active inactive",
)
"""Before the rows of a table they choose among them, and nobody can say which: `late orders`."""
JOINERS: Final = words_in("and or und oder nor")
LIGHT: Final = words_in(
    # articles, pronouns, prepositions, helping verbs
    "a an the and or but of in on at to for from with by as is are was were be been being am do does did done doing",
    "has have had having can could may might it its this that these those there here he she they them their we us",
    "our ours people everyone you your i me my mine one ones s t re ve ll d m so if than then too very just only",
    "also even still yet any some all each every both either neither more most less least much many few fewer same",
    "other others such own about above below over under between among across through during before after since",
    "until till up down out off again further once ever into onto per via within along around near upon toward",
    "towards what which who whom whose when where why how however while because although though whether not no nor",
    "don doesn didn isn aren wasn weren hasn haven couldn won without excluding exclude except excl ignoring apart",
    "rather instead like unlike whats hows whos wheres whens im ive dont didnt isnt cant doesnt id anything",
    "something nothing key pattern patterns please pls thanks thank kindly hey quick quickly simply exactly roughly",
    "approximately currently now already really actually generally always never sometimes together separately",
    "respectively vice versa etc eg ie vs versus",
    # asking
    "show give tell list display plot chart charts graph graphs draw visualise visualize calculate compute find get",
    "see look looking know want need help check report reports reported answer question questions ask breakdown",
    "break broken split splits group grouped grouping sort sorted table tables figure figures picture view provide",
    "present identify determine work working use using used based take takes took taken put go goes went going come",
    "comes came coming make makes made making bring brings brought happen happens happened happening gets got",
    "gotten keep kept belong belongs account accounts accounted contribute contributes contributed live lives lived",
    "reside are there exist exists contain contains include includes included including place placed places think",
    "would wondering interested curious possible able",
    # what data is called
    "data dataset datasets set file files column columns value values number numbers figure result results thing",
    "things way ways level levels amount amounts kind kinds type types size sizes unit units count counts sum",
    "period periods time times date dates part parts top list terms term point points basis detail details",
    "statistics stats statistic numeric information info content facts stuff variable variables measure measures",
    "metric metrics kpi kpis sample samples",
    # how much, in words
    "high higher low lower big bigger small smaller large larger great greater good better bad worse worst best",
    "strong stronger weak weaker significant significantly really clearly real main whole entire full biggest",
    "smallest several likely true strongly gimme should handle handled handles process processed test tests tested",
    "whether hypothesis getting become becoming became produce produces produced generate generates generated",
    "deliver delivered receive received occur occurs occurred record recorded measured observed reach reached",
    "achieve achieved behave seen particular specific certain different distinct unique similar equal equally",
    "relative relatively compared absolute slightly sharply suddenly steadily last first next previous early late",
    "earlier later recent recently long short ago back old new actual normal per ratio versus perform performs",
    "performed performing performance doing",
    # time
    "time day days daily week weeks weekly weekday weekdays weekend weekends month months monthly quarter quarters",
    "quarterly year years yearly annual annually hour hours hourly calendar date today yesterday monday tuesday",
    "wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays half",
    "halves",
    # German
    "der die das den dem des ein eine einen einem einer und oder ist sind war waren wird werden hat haben hatte",
    "hatten wie viel viele vielen was wer wo wann warum welche welcher welches welchen im in am an auf aus bei mit",
    "von vom zu zum zur fur uber unter zwischen nach vor seit bis je pro jede jeder jedes jeden alle es sie wir uns",
    "unser unsere unserer ich mir nicht kein keine ohne mehr weniger als auch nur noch sehr bitte zeig zeige gib",
    "nenne gibt monat monate monatlich jahr jahre jahrlich woche wochen tag tage quartal quartale wochentag stunde",
    "letzten letzte letztes diesem dieses hoch anzahl daten gemacht wurde wurden gab sich hangt ab macht diese",
    "dieser kommt kommen",
)
"""Words that may be passed over: the question is the same without them, or their meaning is read elsewhere."""
KNOWN: Final = frozenset().union(
    LIGHT, MEAN, MEDIAN, SUM, HIGHEST, LOWEST, MOST, DISTINCT, COUNTED_OFTEN, SHARE, WHY, MOVED, TREND, COMPARE,
    RELATION, INFLUENCE, DRIVERS, OUTLIERS, QUALITY, OVERVIEW, DISTRIBUTION, GROUPERS, NEGATORS, JOINERS, ARTICLES,
)  # fmt: skip
"""Every word that a question may have without naming anything of the data."""
UNIT_ALIASES: Final = {
    **{
        "kilo": "kg",
        "kilogram": "kg",
        "gram": "g",
        "gramm": "g",
        "kilogramm": "kg",
        "millimeter": "mm",
        "centimeter": "cm",
    },
    **{"meter": "m", "metre": "m", "millimetre": "mm", "centimetre": "cm", "litre": "l", "liter": "l"},
}
"""Units as people say them → as files write them."""
NUMBER_WORDS: Final = {
    **{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10},
    **{"eleven": 11, "twelve": 12, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100},
    **{"zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10},
}
