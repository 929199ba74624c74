"""Writes climate.csv beside itself: 60 days of three invented rooms, hour by hour, the same each time."""

import csv
import math
import random
from datetime import datetime, timedelta
from pathlib import Path

FIRST = datetime(2025, 1, 6)
ROOMS = {"archive": (18.0, 0.3), "office": (21.0, 1.6), "workshop": (17.0, 2.4)}  # usual °C, how far a day swings
REPAIRED = datetime(2025, 2, 3)
SILENT = (datetime(2025, 1, 22), datetime(2025, 1, 24))


def reading(chance, when, room, drift):
    usual, swing = ROOMS[room]
    warm = usual + swing * math.sin((when.hour - 9) / 24 * 2 * math.pi) + drift
    if room == "workshop" and when >= REPAIRED:
        warm += 2.5  # the heater was repaired
    is_day = 8 <= when.hour < 18 and when.weekday() < 5
    air = 430 + (380 if is_day and room == "office" else 60 if is_day else 0) + chance.gauss(0, 25)
    damp = 62 - 1.1 * (warm - 18) + chance.gauss(0, 2.2)
    value = "-999" if chance.random() < 0.006 else f"{warm + chance.gauss(0, 0.3):.1f}"
    return [when.strftime("%Y-%m-%d %H:%M"), room, value, f"{damp:.0f}", f"{air:.0f}", f"{chance.gauss(3.1, 0.05):.2f}"]


def main():
    chance = random.Random(7)
    rows, drift = [], dict.fromkeys(ROOMS, 0.0)
    for hour in range(24 * 60):
        when = FIRST + timedelta(hours=hour)
        for room in ROOMS:
            drift[room] = 0.9 * drift[room] + chance.gauss(0, 0.12)  # weather, which has no direction
            row = reading(chance, when, room, drift[room])
            if not SILENT[0] <= when < SILENT[1]:
                rows.append(row)
    with (Path(__file__).parent / "climate.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time", "room", "temperature_c", "humidity_percent", "co2_ppm", "battery_v"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
