"""Writes the folder monthly/ beside itself: a year of three branches, a file a month, with traps, the same each time.

The traps: one month is there twice under another name, one has its columns renamed, one has semicolons and decimal
commas, one month is missing, and there is a note among the files.
"""

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent / "monthly"
BRANCHES = {"Harbour": 5200.0, "Market": 4100.0, "Station": 6900.0}
COLUMNS = ["date", "branch", "visitors", "revenue_eur"]


def month_rows(chance, month):
    for day in range(1, 29):
        for branch, usual in BRANCHES.items():
            if branch == "Market" and month >= 7:
                usual *= 1.25  # it was rebuilt in summer
            visitors = round(chance.gauss(usual / 12, usual / 80))
            yield [f"2025-{month:02d}-{day:02d}", branch, visitors, round(visitors * chance.gauss(12, 0.8), 2)]


def write(name, columns, rows, delimiter=","):
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def main():
    chance = random.Random(31)
    HERE.mkdir(exist_ok=True)
    for month in range(1, 13):
        rows, name = list(month_rows(chance, month)), f"sales_2025-{month:02d}.csv"
        if month == 4:
            continue  # nobody has it any more
        if month == 6:
            write(name, ["day", "shop", "visitors", "revenue_eur"], rows)
        elif month == 9:
            write(name, COLUMNS, [[*row[:3], f"{row[3]:.2f}".replace(".", ",")] for row in rows], delimiter=";")
        else:
            write(name, COLUMNS, rows)
        if month == 2:
            write("sales_2025-02-copy.csv", COLUMNS, rows)
    (HERE / "note.txt").write_text("April is lost. Ask Jo about June.\n", encoding="utf-8")


if __name__ == "__main__":
    main()
