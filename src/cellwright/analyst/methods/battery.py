"""All tests worth making on some tables as one family, corrected together.

And the sentence each may be claimed with.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cellwright.analyst.methods.independence import bonds_of, independent_rows
from cellwright.analyst.methods.pairs import association, correlation, difference, labels_of, moments_of, numbers_of
from cellwright.analyst.methods.time_series import breaks, change, season, trend

LEAST_EFFECTS = {
    "rank-biserial correlation": 0.2,
    "epsilon squared": 0.02,
    "Cramer's V": 0.1,
    "rank correlation": 0.2,
    "change over the whole time in standard deviations": 0.5,
    "step beyond a straight line in standard deviations": 0.5,
    "change in standard deviations of a step": 0.2,
}

TEST_COLUMNS = [
    *("kind", "table", "y", "x", "test", "n", "statistic", "p", "p_adjusted", "effect", "effect_name"),
    *("low", "high", "checked", "says", "is_finding"),
]


def examine(
    tables: dict[str, pd.DataFrame],
    roles: dict[str, dict[str, str]],
    first: tuple[tuple[str, str], ...] = (),
    spans: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (),
) -> pd.DataFrame:
    """All tests worth making, one row each, corrected together (Benjamini-Yekutieli, 5 %).

    `roles` says what each column is, `first` names (table, column) that come before others, `spans` are pairs of
    spans to compare. A finding has a corrected p of 0.05 or less and an effect of the least size in `LEAST_EFFECTS`.
    """
    rows: list[dict[str, object]] = []
    left_out: list[str] = []
    for name, table in tables.items():
        wanted = [column for owner, column in first if owner == name]
        found, skipped = examine_table(table, roles.get(name, {}), wanted, spans)
        rows += [{**row, "table": name} for row in found]
        left_out += [f"{name}: {why}" for why in skipped]
    tests = pd.DataFrame(rows, columns=TEST_COLUMNS)
    tests = tests[tests["p"].notna() & tests["effect"].notna()].reset_index(drop=True)
    chances = tests["p"].clip(0, 1).astype(float)
    tests["p_adjusted"] = stats.false_discovery_control(chances, method="by") if len(tests) else chances
    least = tests["effect_name"].map(LEAST_EFFECTS)
    tests["is_finding"] = (tests["p_adjusted"] <= 0.05) & (tests["effect"].abs() >= least)
    tests.attrs["left_out"] = left_out
    return tests


def examine_table(
    table: pd.DataFrame,
    roles: dict[str, str],
    wanted: list[str],
    spans: tuple[tuple[tuple[str, str], tuple[str, str]], ...],
) -> tuple[list[dict[str, object]], list[str]]:
    """The tests of one table, and what was left out."""
    frame, measures, categories, when, left_out = ready_for_tests(table, roles, wanted)
    keys = {key: roles.get(key) == "category" for key in frame.columns if is_key(frame[key], roles.get(key, ""))}
    bonds = bonds_of(frame, measures + categories, list(keys))
    made = made_of(frame, measures)
    pairs = [(difference, y, x) for y in measures for x in categories]
    both = [(y, x) for place, y in enumerate(measures) for x in measures[place + 1 :]]
    pairs += [(correlation, y, x) for y, x in both if {y, x} not in made]
    both = [(y, x) for place, y in enumerate(categories) for x in categories[place + 1 :]]
    pairs += [(association, y, x) for y, x in both if not settles(frame, y, x)]
    rows: list[dict[str, object] | None] = []
    for method, y, x in pairs:
        part, note = independent_rows(frame, y, x, bonds, keys, bool(when))
        rows.append(method(part, y, x, note))
    shares = [column for column in categories if roles.get(column) == "flag"]
    for y in [*measures, *shares][:12] if when else []:
        timed = pd.DataFrame({y: numbers_of(table, y), when: moments_of(table, when)})
        rows += [trend(timed, y, when), season(timed, y, when), breaks(timed, y, when)]
        how = "sum" if roles.get(y) == "currency" else "mean"
        rows += [change(timed, y, when, *pair, how=how) for pair in spans if y in measures]
    left_out += [" and ".join(sorted(pair)) + " go together by how they are made" for pair in made]
    return [row for row in rows if row is not None], left_out


def ready_for_tests(
    table: pd.DataFrame, roles: dict[str, str], wanted: list[str]
) -> tuple[pd.DataFrame, list[str], list[str], str, list[str]]:
    """A table as tests want it (typed, in order of time, 50,000 rows at most), and its columns."""
    sampled: list[str] = []
    if len(table) > 50_000:
        table = table.iloc[np.sort(np.random.default_rng(0).choice(len(table), 50_000, replace=False))]
        sampled.append("pairs of columns were tested on 50,000 rows, drawn with a fixed seed")
    measures, categories, left_out = columns_worth(table, roles, wanted)
    dates = [column for column in table.columns if roles.get(column) == "date"]
    moments = {column: moments_of(table, column) for column in dates}
    known = {column: (column in wanted, int(moments[column].notna().sum())) for column in dates}
    when = max(dates, key=known.__getitem__, default="")
    when = when if when and moments[when].nunique() >= 10 else ""
    parts = {column: numbers_of(table, column) for column in measures}
    others = [column for column in table.columns if roles.get(column) in ("id", "code", "category")]
    every = dict.fromkeys([*categories, *others])
    parts |= {column: labels_of(table, column, most=len(table), least=1) for column in every}
    parts |= moments
    frame = pd.DataFrame(parts).reset_index(drop=True)
    if when:
        panel = panel_key(frame, when, [key for key in others if key in frame.columns])
        frame = frame.sort_values([panel, when] if panel else when, kind="stable")
    return frame.reset_index(drop=True), measures, categories, when, sampled + left_out


def columns_worth(
    table: pd.DataFrame, roles: dict[str, str], wanted: list[str], most: int = 12
) -> tuple[list[str], list[str], list[str]]:
    """Which measures and categories to test: wanted ones first, then those that tell most."""
    worth: dict[str, tuple[str, float]] = {}
    for column in dict.fromkeys(table.columns):
        role = roles.get(column, "")
        numbers = numbers_of(table, column) if role in ("measure", "currency") else pd.Series(dtype=float)
        if numbers.nunique() >= 3:
            worth[column] = ("measure", float(numbers.notna().mean()) * min(numbers.nunique() / 20, 1.0))
        elif role in ("category", "flag", "measure", "currency") or (column in wanted and role in ("code", "id")):
            labels = labels_of(table, column)
            shares = labels.value_counts(normalize=True).to_numpy(dtype=float)
            if len(shares) >= 2:
                evenness = float(stats.entropy(shares)) / float(np.log(max(len(shares), 3)))
                worth[column] = ("category", float(labels.notna().mean()) * evenness)
    order = sorted(worth, key=lambda column: (column not in wanted, -worth[column][1]))
    found = {kind: [column for column in order if worth[column][0] == kind] for kind in ("measure", "category")}
    measures, repeats = without_repeats(table, found["measure"])
    left_out = [*repeats, *(f"{column} was not tested: {most} come first" for column in measures[most:])]
    left_out += [f"{column} was not tested: {most} come first" for column in found["category"][most:]]
    return measures[:most], found["category"][:most], left_out


def without_repeats(table: pd.DataFrame, measures: list[str]) -> tuple[list[str], list[str]]:
    """The measures without those that say the same as one before them."""
    ranks = pd.DataFrame({column: numbers_of(table, column) for column in measures}).head(20_000).rank()
    alike = ranks.corr().abs()
    kept: list[str] = []
    said: list[str] = []
    for column in measures:
        twin = next((other for other in kept if alike.loc[column, other] > 0.995), "")
        if twin:
            said.append(f"{column} was not tested: it says the same as {twin}")
        else:
            kept.append(column)
    return kept, said


def is_key(values: pd.Series, role: str) -> bool:
    """Whether rows of one value may hang together: enough values, and several rows for each."""
    if role not in ("id", "code", "category", "date"):
        return False
    count, there = values.nunique(), int(values.notna().sum())
    return 5 <= count <= there / 2


def panel_key(frame: pd.DataFrame, when: str, keys: list[str]) -> str:
    """The column whose values each have a series of their own: with the date it names a row."""
    if frame[when].nunique() > 0.8 * len(frame):
        return ""
    for key in keys:
        pairs = frame[[key, when]].dropna()
        if len(pairs) >= 5 * max(pairs[key].nunique(), 1) and not pairs.empty and pairs.duplicated().mean() < 0.05:
            return key
    return ""


def settles(frame: pd.DataFrame, y: str, x: str) -> bool:
    """Whether one category settles the other, like a city its country: no news, so no test."""
    pairs = frame[[y, x]].dropna().drop_duplicates()
    return len(pairs) <= max(pairs[y].nunique(), pairs[x].nunique())


def made_of(frame: pd.DataFrame, measures: list[str]) -> list[set[str]]:
    """Pairs of measures of which one is a sum, difference or product of the other and a third."""
    rows = frame[measures].dropna().head(200).to_numpy(dtype=float)
    pairs: list[set[str]] = []
    if len(rows) < 20:
        return pairs
    places = range(len(measures))
    for whole, a, b in [
        (whole, a, b) for whole in places for a in places for b in places if a < b and whole not in (a, b)
    ]:
        first, second, target = rows[:, a], rows[:, b], rows[:, whole]
        tolerance = 0.005 * max(float(np.abs(target).mean()), 1e-12)
        if any(np.median(np.abs(target - guess)) <= tolerance for guess in (first + second, first * second)):
            pairs += [{measures[whole], measures[a]}, {measures[whole], measures[b]}]
    return [pair for place, pair in enumerate(pairs) if pair not in pairs[:place]]


def claim(tests: pd.DataFrame, table: str, y: str, x: str, kind: str = "") -> dict[str, object] | None:
    """The row of one test; None if it was not made. Without a kind: that with the smallest p."""
    names = tests["y"].eq(y) & tests["x"].eq(x) | tests["y"].eq(x) & tests["x"].eq(y)
    rows = tests[tests["table"].eq(table) & names & (tests["kind"].eq(kind) | (kind == ""))]
    if rows.empty:
        return None
    return {str(name): value for name, value in rows.sort_values("p", kind="stable").iloc[0].items()}


def escaped(text: str, longest: int = 400) -> str:
    """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
    plain = " ".join(text.split())
    plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
    return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)


def say(row: dict[str, object] | None) -> str:
    """A test as a sentence in markdown: what it says, how sure that is, and how strong."""
    if row is None:
        return "*This cannot be tested with the data and the repairs chosen now.*"
    p, n = float(row["p_adjusted"]), int(row["n"])
    sure = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
    numbers = (
        f"{escaped(str(row['test']))}, n = {n:,}, {sure} corrected for all tests; "
        f"{escaped(str(row['effect_name']))} {float(row['effect']):.2f}, "
        f"95 % interval {float(row['low']):.2f} to {float(row['high']):.2f}; {escaped(str(row['checked']))}"
    )
    if row["is_finding"]:
        words = str(row["says"]).strip().rstrip(".")
        return f"**{escaped(words[:1].upper() + words[1:])}.** ({numbers})"
    pair = f"{escaped(str(row['y']), 100)} and {escaped(str(row['x']), 100)}"
    why = "it may well be chance" if p > 0.05 else "it is too weak to mention"
    return f"*No {escaped(str(row['kind']))} found for {pair} with the data and repairs chosen now: {why}.* ({numbers})"
