"""Writes orders.csv, customers.csv and planted.json beside itself: two years of an invented shop, the same each time.

The problems and the effects are planted on purpose; README.md lists them for people and planted.json for tests.
"""

import csv
import json
import math
import random
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).parent
FIRST, LAST = date(2024, 1, 1), date(2025, 12, 31)
GAP = (date(2025, 2, 1), date(2025, 2, 28))
FALL = (date(2025, 7, 1), date(2025, 9, 30))
OUTLIER_DAY = date(2024, 10, 17)

CITIES = {  # region: cities with the beginning of their postcodes
    "North": [("Lübeck", "23"), ("Kiel", "24"), ("Hamburg", "20")],
    "South": [("München", "80"), ("Nürnberg", "90"), ("Augsburg", "86")],
    "East": [("Dresden", "01"), ("Leipzig", "04"), ("Görlitz", "02")],
    "West": [("Köln", "50"), ("Düsseldorf", "40"), ("Münster", "48")],
}
CODES = {"North": "N", "South": "S", "East": "E", "West": "W"}
SHARES = {"North": 0.20, "South": 0.42, "East": 0.16, "West": 0.22}
GROUPS = {  # product group: (share of orders, usual price of a piece in euros, usual weight of a piece in kg)
    "Garden": (0.28, 60.0, 4.5),
    "Kitchen": (0.24, 24.0, 1.1),
    "Lighting": (0.16, 31.0, 0.9),
    "Office": (0.16, 18.0, 0.7),
    "Textiles": (0.16, 22.0, 0.6),
}
CHANNELS = {"Web": (0.62, 3.0), "Phone": (0.16, 6.0), "Store": (0.22, 0.0)}  # share, usual days of shipping
MISSPELT = {"Kitchen": ["kitchen", "Kitchen ", "Kichen"], "Lighting": ["LIGHTING", "Lightning"]}
ORDER_COLUMNS = [
    "order_id", "order_date", "customer_id", "product_group", "channel", "quantity", "amount", "shipping_days",
    "weight_kg", "weight_g", "packed_by",
]  # fmt: skip
CUSTOMER_COLUMNS = [
    "customer_id", "city", "postcode", "region", "region_code", "segment", "joined", "birth_year", "newsletter",
    "satisfaction",
]  # fmt: skip


def weighted(chance, shares):
    return chance.choices(list(shares), weights=list(shares.values()))[0]


def euros(amount):
    """As the till writes it: 1.234,50 €."""
    return f"{amount:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") + " €"


# ── customers ──


def customer(chance, number):
    region = weighted(chance, SHARES)
    city, beginning = chance.choice(CITIES[region])
    segment = "Business" if chance.random() < 0.35 else "Private"
    # Firms seldom answer: what is missing depends on the segment.
    is_asked = chance.random() < (0.25 if segment == "Business" else 0.94)
    joined = date(2019, 1, 1) + timedelta(days=chance.randrange(5 * 365))
    birth_year = str(min(2006, max(1938, round(chance.gauss(1978, 14)))))
    if chance.random() < 0.04:
        birth_year = "9999"
    return {
        "customer_id": f"C{number:04d}",
        "city": city,
        "postcode": f"{beginning}{chance.randrange(1000):03d}",
        "region": region,
        "region_code": CODES[region],
        "segment": segment,
        "joined": joined.strftime("%d.%m.%Y"),
        "birth_year": birth_year,
        "newsletter": chance.choice(["yes", "no"]),
        "satisfaction": str(min(10, max(1, round(chance.gauss(7.2, 1.6))))) if is_asked else "",
    }


# ── orders ──


def busyness(day):
    """How many orders a day has, compared with others: the weeks before Christmas are busy."""
    return 1.7 if day.month in (11, 12) else 1.0


def is_made(chance, day, region, group):
    if GAP[0] <= day <= GAP[1]:
        return False
    if FALL[0] <= day <= FALL[1] and region == "South" and group == "Garden":
        return chance.random() < 0.04  # a competitor opened; the one true cause in the data
    return True


def order(chance, day, customers):
    buyer = chance.choice(customers)
    group = weighted(chance, {name: values[0] for name, values in GROUPS.items()})
    if not is_made(chance, day, buyer["region"], group):
        return None
    _, price, weight = GROUPS[group]
    channel = weighted(chance, {name: values[0] for name, values in CHANNELS.items()})
    pieces = chance.choices([2, 3, 4, 5] if buyer["segment"] == "Business" else [1, 2, 2, 3])[0]
    gift = 1.2 if day.month in (11, 12) else 1.0
    family = 1.4 if day.weekday() == 5 else 1.0
    amount = pieces * price * gift * family * math.exp(chance.gauss(0, 0.2))
    kilograms = round(pieces * weight * math.exp(chance.gauss(0, 0.18)), 2)
    days = "" if channel == "Store" else str(max(1, round(chance.gauss(CHANNELS[channel][1], 1.1))))
    return {
        "order_date": day,
        "customer_id": buyer["customer_id"],
        "product_group": group,
        "channel": channel,
        "quantity": pieces,
        "amount": amount,
        "shipping_days": days,
        "weight_kg": f"{kilograms:.2f}",
        "weight_g": f"{kilograms * 1000:.0f}",
        "packed_by": chance.choice(["Ada", "Ben", "Cem", "Dora"]),
    }


def all_orders(chance, customers):
    orders, day = [], FIRST
    while day <= LAST:
        for _ in range(round(chance.gauss(6.6, 1.6) * busyness(day))):
            made = order(chance, day, customers)
            if made:
                orders.append(made)
        day += timedelta(days=1)
    for number, made in enumerate(orders, start=1):
        made["order_id"] = f"B{made['order_date']:%y}-{number:05d}"
    return orders


def spoil(chance, orders):
    """Plants the problems that are in rows."""
    shipped = [made for made in orders if made["shipping_days"]]
    for made in chance.sample(shipped, 38):
        made["shipping_days"] = "9999"
    for made in chance.sample(orders, 150):
        made["customer_id"] = f"C{chance.randrange(7000, 7060)}"
    for group, spellings in MISSPELT.items():
        for made in chance.sample([one for one in orders if one["product_group"] == group], 14 * len(spellings)):
            made["product_group"] = chance.choice(spellings)
    for made in orders:
        if made["order_date"] == OUTLIER_DAY:
            made["amount"] *= 100  # a day's cents were typed as euros


def order_lines(chance, orders):
    """As the two yearly exports were pasted together, totals, header and footnotes included."""
    lines, written = [ORDER_COLUMNS], []
    for year in (2024, 2025):
        if year == 2025:
            lines.append(ORDER_COLUMNS)
        of_year = [made for made in orders if made["order_date"].year == year]
        rows = [as_row(made) for made in of_year]
        for copied in sorted(chance.sample(range(len(rows)), 12), reverse=True):
            rows.insert(copied + 1, rows[copied])
        lines += rows
        written += rows
        total = {"order_id": f"Total {year}", "amount": euros(sum(made["amount"] for made in of_year))}
        lines.append([total.get(name, "") for name in ORDER_COLUMNS])
    lines += [["* Amounts include VAT."], ["Source: export of the till, 3 January 2026."]]
    return lines, written


def as_row(made):
    # The telephone desk has a program of its own, which writes dates the German way.
    shown = made["order_date"].strftime("%d.%m.%Y" if made["channel"] == "Phone" else "%Y-%m-%d")
    values = {**made, "order_date": shown, "amount": euros(made["amount"])}
    return [str(values[name]) for name in ORDER_COLUMNS]


# ── what was planted ──


def planted(customers, orders, rows):
    """Each problem with how a profile shows it, each effect with the row of `tests` it must be."""

    def oddity(name, table, kind, column="", count=0, values=()):
        return {
            "name": name, "shown_as": "oddity", "table": table, "kind": kind, "column": column,
            "count": count, "values": list(values),
        }  # fmt: skip

    def lines(holds):
        return sum(holds(dict(zip(ORDER_COLUMNS, row, strict=True))) for row in rows)

    spellings = {label for labels in MISSPELT.values() for label in labels}
    outlier_day = {OUTLIER_DAY.strftime("%d.%m.%Y"), OUTLIER_DAY.isoformat()}
    known = {one["customer_id"] for one in customers}
    used = {made["customer_id"] for made in orders}
    problems = [
        oddity("days of shipping that are 9999", "orders", "sentinel", "shipping_days",
               lines(lambda row: row["shipping_days"] == "9999"), ["9999"]),
        oddity("years of birth that are 9999", "customers", "sentinel", "birth_year",
               sum(one["birth_year"] == "9999" for one in customers), ["9999"]),
        oddity("amounts with a decimal comma", "orders", "decimal-comma", "amount", len(rows)),
        oddity("amounts with a euro sign", "orders", "currency-text", "amount", len(rows)),
        oddity("dates in two formats", "orders", "mixed-date-formats", "order_date",
               lines(lambda row: "." in row["order_date"])),
        oddity("a total below each year", "orders", "total-rows", "", 2),
        oddity("the header again where the second year begins", "orders", "repeated-header", "", 1),
        oddity("two footnotes", "orders", "footnotes", "", 2),
        oddity("product groups in several spellings", "orders", "near-duplicate-labels", "product_group",
               lines(lambda row: row["product_group"] in spellings)),
        oddity("orders that are there twice", "orders", "duplicate-rows", "", 24),
        oddity("a day whose amounts are a hundred times too large", "orders", "outliers", "amount",
               lines(lambda row: row["order_date"] in outlier_day)),
        oddity("postcodes with leading zeros", "customers", "leading-zeros", "postcode",
               sum(one["postcode"].startswith("0") for one in customers)),
        {"name": "customers in latin-1", "shown_as": "encoding", "table": "customers",
         "encodings": ["cp1252", "latin-1", "iso-8859-1", "iso8859-1", "iso8859_1", "latin1", "windows-1252"]},
        {"name": "orders of customers nobody knows", "shown_as": "join", "left": "orders", "right": "customers",
         "column": "customer_id", "left_coverage": round(len(used & known) / len(used), 4)},
        {"name": "February 2025 has no orders", "shown_as": "gap", "table": "orders", "column": "order_date",
         "first": "2025-02-01", "last": "2025-02-28"},
        {"name": "grams repeat kilograms", "shown_as": "repeat", "table": "orders",
         "columns": ["weight_kg", "weight_g"]},
        {"name": "region codes repeat regions", "shown_as": "repeat", "table": "customers",
         "columns": ["region", "region_code"]},
        {"name": "days of shipping are missing in the store", "shown_as": "null-pattern", "table": "orders",
         "column": "shipping_days", "by": "channel"},
        {"name": "satisfaction is missing among firms", "shown_as": "null-pattern", "table": "customers",
         "column": "satisfaction", "by": "segment"},
    ]  # fmt: skip
    effects = [
        {"name": "orders by telephone take longer", "kind": "difference", "y": "shipping_days", "x": "channel"},
        {"name": "firms buy more pieces at once", "kind": "difference", "y": "quantity", "x": "segment"},
        {"name": "garden things cost more", "kind": "difference", "y": "amount", "x": "product_group"},
        {"name": "more pieces weigh more", "kind": "correlation", "y": "quantity", "x": "weight_kg"},
        {"name": "on Saturdays people spend more", "kind": "season", "y": "amount", "x": "order_date"},
        {"name": "revenue fell in the third quarter of 2025", "kind": "change", "y": "amount", "x": "order_date",
         "first": "2025-07-01", "last": "2025-09-30", "because": {"region": "South", "product_group": "Garden"}},
    ]  # fmt: skip
    nothing = [
        {"name": "the newsletter does not please", "kind": "difference", "y": "satisfaction", "x": "newsletter"},
        {"name": "who packs does not matter", "kind": "difference", "y": "shipping_days", "x": "packed_by"},
        {"name": "who packs is chance", "kind": "association", "y": "channel", "x": "packed_by"},
        {"name": "age and satisfaction are unrelated", "kind": "correlation", "y": "satisfaction", "x": "birth_year"},
        {"name": "regions are equally content", "kind": "difference", "y": "satisfaction", "x": "region"},
    ]  # fmt: skip
    return {"problems": problems, "effects": effects, "nothing": nothing}


def main():
    chance = random.Random(20261142)
    customers = [customer(chance, number) for number in range(1, 601)]
    orders = all_orders(chance, customers)
    spoil(chance, orders)
    lines, rows = order_lines(chance, orders)
    with (HERE / "customers.csv").open("w", newline="", encoding="latin-1") as file:
        writer = csv.DictWriter(file, CUSTOMER_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(customers)
    with (HERE / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";", lineterminator="\n").writerows(lines)
    told = json.dumps(planted(customers, orders, rows), indent=1, ensure_ascii=False)
    (HERE / "planted.json").write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
