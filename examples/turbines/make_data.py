"""Writes output.xlsx and faults.jsonl beside itself: invented wind turbines, the same each time.

The workbook has a title above a header of two rows with merged cells, and a second sheet; the log is JSON lines whose
keys come and go.
"""

import io
import json
import random
import re
import zipfile
from datetime import date, timedelta
from pathlib import Path

from openpyxl import Workbook

HERE = Path(__file__).parent
TURBINES = ["T1", "T2", "T3"]
STAMP = (2025, 1, 1, 0, 0, 0)


def daily(chance, book):
    sheet = book.active
    sheet.title = "output"
    sheet["A1"] = "Output of the wind farm, invented"
    sheet["A3"] = "date"
    for number, turbine in enumerate(TURBINES):
        left = 2 + 2 * number
        sheet.cell(3, left, turbine)
        sheet.merge_cells(start_row=3, start_column=left, end_row=3, end_column=left + 1)
        sheet.cell(4, left, "energy_kwh")
        sheet.cell(4, left + 1, "wind_m_s")
    for day in range(180):
        row, wind = [date(2025, 1, 1) + timedelta(days=day)], max(1.0, chance.gauss(7, 2))
        for number in range(len(TURBINES)):
            here = max(0.5, wind + chance.gauss(0, 0.5))
            worn = 0.8 if number == 2 and day >= 100 else 1.0  # T3 lost a fifth in April
            row += [round(here**2 * 9 * worn * chance.gauss(1, 0.06)), round(here, 1)]
        sheet.append(row)


def makers(book):
    sheet = book.create_sheet("turbines")
    sheet.append(["turbine", "maker", "built", "height_m"])
    for row in (["T1", "Vento", 2016, 98], ["T2", "Vento", 2016, 98], ["T3", "Aura", 2021, 120]):
        sheet.append(row)


def faults(chance):
    for number in range(160):
        when = date(2025, 1, 1) + timedelta(days=chance.randrange(180))
        fault = {"id": number + 1, "date": when.isoformat(), "turbine": chance.choice(TURBINES)}
        fault["kind"] = chance.choice(["pitch", "gear", "grid", "ice"])
        fault["minutes"] = round(chance.expovariate(1 / (90 if fault["kind"] == "gear" else 25))) + 1
        if chance.random() < 0.3:
            fault["note"] = chance.choice(["reset from afar", "part ordered", "went away by itself"])
        yield json.dumps(fault)


def save(book, path):
    """Without the clock: the same workbook is the same bytes."""
    written = io.BytesIO()
    book.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            told = re.sub(rb">\d{4}-[-:\dT]+Z<", b">2025-01-01T00:00:00Z<", source.read(name))
            target.writestr(zipfile.ZipInfo(name, STAMP), told, zipfile.ZIP_DEFLATED)


def main():
    chance = random.Random(41)
    book = Workbook()
    daily(chance, book)
    makers(book)
    save(book, HERE / "output.xlsx")
    (HERE / "faults.jsonl").write_text("".join(f"{line}\n" for line in faults(chance)), encoding="utf-8")


if __name__ == "__main__":
    main()
