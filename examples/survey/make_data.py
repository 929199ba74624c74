"""Writes answers.csv beside itself: 320 invented answers to a survey among staff, the same each time."""

import csv
import random
from pathlib import Path

AGREEMENT = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
TEAMS = {"Sales": 3.9, "Support": 2.9, "Engineering": 3.9, "Finance": 3.8}  # how content, of 5
PRAISE = ["Good people.", "I like the new rooms.", "Clear goals, fair pay.", "My manager listens."]
COMPLAINTS = ["Too many tickets, too few people.", "Shifts change without notice.", "The phones never stop.", "No time."]


def answer(chance, number):
    team = chance.choices(list(TEAMS), weights=[3, 4, 5, 2])[0]
    level = min(5, max(1, round(chance.gauss(TEAMS[team], 0.9))))
    words = chance.choice(PRAISE if level > 3 else COMPLAINTS) if chance.random() < 0.55 else ""
    label = team if chance.random() > 0.05 else chance.choice([team.lower(), f"{team} "])
    years = f"{chance.expovariate(1 / 4):.1f}"
    return [
        f"R{number:03d}", label, chance.choice(["Oslo", "Porto", "Riga"]), years if chance.random() > 0.05 else "n/a",
        AGREEMENT[level - 1], AGREEMENT[min(4, max(0, round(chance.gauss(2.6, 1))))],
        str(min(10, max(0, round(level * 2 + chance.gauss(0, 1.2))))), chance.choice(["yes", "no"]), words,
    ]  # fmt: skip


def main():
    chance = random.Random(11)
    with (Path(__file__).parent / "answers.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(
            ["respondent", "team", "site", "years_here", "content", "tools_are_good", "recommend_0_to_10", "parking", "comment"]
        )
        writer.writerows(answer(chance, number) for number in range(1, 321))


if __name__ == "__main__":
    main()
