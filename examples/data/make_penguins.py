"""Writes penguins.csv beside itself: 240 invented penguins, the same ones each time."""

import csv
import random
from pathlib import Path

KINDS = {  # species: (bill length mm, bill depth mm, flipper mm, mass g)
    "Ember": (39.0, 18.4, 190.0, 3700.0),
    "Frost": (48.5, 18.2, 196.0, 3950.0),
    "Tide": (47.3, 15.0, 217.0, 5080.0),
}
ISLANDS = {"Ember": ["Skerry", "Holm"], "Frost": ["Holm"], "Tide": ["Longstone"]}
COLUMNS = ["species", "island", "sex", "year", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def penguin(chance: random.Random) -> list[str]:
    species = chance.choice(list(KINDS))
    sex = chance.choice(["female", "male"])
    grown = 1.04 if sex == "male" else 0.96
    bill, depth, flipper, mass = (middle * grown * chance.gauss(1.0, 0.03) for middle in KINDS[species])
    measured = [f"{bill:.1f}", f"{depth:.1f}", f"{flipper:.0f}", f"{round(mass * chance.gauss(1.0, 0.04), -1):.0f}"]
    if chance.random() < 0.04:  # some birds walked off the scale
        measured[chance.randrange(4)] = ""
    if chance.random() < 0.03:
        sex = ""
    return [species, chance.choice(ISLANDS[species]), sex, str(chance.choice([2023, 2024, 2025])), *measured]


def main() -> None:
    chance = random.Random(20261115)
    with (Path(__file__).parent / "penguins.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(penguin(chance) for _ in range(240))


if __name__ == "__main__":
    main()
