"""What answers tell: one segment where two columns meet, nothing certain on noise; and all of it follows switches."""

from __future__ import annotations

import csv
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cellwright.analyst.drafts import CellDraft, TestKind, TestRow
from cellwright.analyst.goal.question import Quantity, Question, ValueFilter
from cellwright.analyst.goal.request import DateRange, NamedColumn
from cellwright.analyst.methods import brief, time_series
from tests.analyst.answers.asked import Asked, Files, answered, ask, run_cells
from tests.analyst.hostile_sets import SETS, HostileSet

EXAMPLES = Path(__file__).parents[3] / "examples"
WHY = "Why did revenue fall in Q3 2025?"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("shop")
    for name in ("orders.csv", "customers.csv"):
        shutil.copy(EXAMPLES / "data" / name, folder)
    return Files(folder=folder, names=("orders.csv", "customers.csv"))


def answer_to(files: Files, words: str) -> Asked:
    asked = ask(files, words)
    assert isinstance(asked, Asked), asked
    return asked


@pytest.mark.slow
def test_the_planted_segment_is_told_as_one(shop: Files) -> None:
    asked = answer_to(shop, WHY)
    assert asked.values["segment"]["labels"] == ("South", "Garden")
    assert asked.told["headline"] == (
        "Revenue fell 28.8% in Q3 2025, from €58.7k to €41.8k; 81% of it in South × Garden"
    )
    assert "one segment: without it South -3%, Garden -5%" in asked.told["findings"][0]["says"]
    assert "comparisons counted: 5" in asked.told["findings"][0]["statistics"]
    assert "break rather than a season" in asked.told["findings"][2]["says"]


@pytest.mark.slow
def test_a_short_notebook_is_short_and_begins_with_the_answer(shop: Files) -> None:
    notebook = answer_to(shop, WHY).notebook
    cells = [*notebook.data, *notebook.answer]
    assert len(cells) <= 38
    assert [cell.name for cell in cells if cell.at_start] == [
        *("report_headline", "report_picture"),
        *("report_finding_1", "report_finding_2", "report_finding_3", "choices"),
    ]
    assert max(len(cell.code.splitlines()) for cell in cells) <= 45


@pytest.mark.slow
def test_the_test_of_a_change_gives_the_figures_of_the_full_method(shop: Files) -> None:
    values = answer_to(shop, WHY).values
    spans = ("2024-07-01", "2024-09-30"), ("2025-07-01", "2025-09-30")
    full = time_series.change(values["orders_with_customers"], "amount", "order_date", *spans, how="sum")
    days = [part.set_index("order_date")["amount"].resample("D").sum() for part in (values["before"], values["now"])]
    short = brief.change_test(*days)
    assert full is not None
    assert (short["p"], short["effect"]) == pytest.approx((full["p"], full["effect"]))
    assert f"n = {full['n']:,} days" in str(short["says"])
    assert f"{full['low']:.2f} to {full['high']:.2f}" in str(short["says"])


def test_a_switch_changes_every_figure_that_hangs_on_it(shop: Files) -> None:
    asked = answer_to(shop, "total revenue")
    on = [
        replace(cell, code=cell.code.replace("mo.ui.switch(label=", "mo.ui.switch(value=True, label="))
        for cell in (*asked.notebook.data, *asked.notebook.answer)
    ]
    places = "".join(f"{name} = Path({str(shop.folder)!r}) / {path!r}\n" for path, name in shop.paths.items())
    again = run_cells([CellDraft(name="data_files", code=f"from pathlib import Path\n{places}"), *on])
    assert again["result"] < asked.values["result"]
    assert again["told"]["headline"] != asked.told["headline"]
    assert "left as they are" in " ".join(asked.told["trust"])
    assert "left as they are" not in " ".join(again["told"]["trust"])


def sales(folder: Path, seed: int, *, falls: dict[str, str] | None = None) -> Files:
    """A year and a half of sales in which nothing happens, but for rows with these labels in the last quarter."""
    chance, lines = random.Random(seed), ["day,region,kind,shop,amount"]
    for number in range(548):
        day = date(2024, 1, 1) + timedelta(days=number)
        for _ in range(8):
            row = {
                "region": chance.choice("NSEW"),
                "kind": chance.choice(["a", "b", "c"]),
                "shop": chance.choice("xyz"),
            }
            amount = chance.lognormvariate(3, 0.6)
            if falls and day >= date(2025, 4, 1) and all(row[key] == label for key, label in falls.items()):
                amount *= 0.05
            lines.append(f"{day},{row['region']},{row['kind']},{row['shop']},{amount:.2f}")
    (folder / "sales.csv").write_text("\n".join(lines) + "\n")
    return Files(folder=folder, names=("sales.csv",))


@pytest.mark.slow
@pytest.mark.parametrize(("falls", "labels"), [({"region": "S"}, ("S",)), ({"region": "S", "kind": "b"}, ("S", "b"))])
def test_what_fell_is_found_whether_it_is_one_label_or_two(
    tmp_path: Path, falls: dict[str, str], labels: tuple[str, ...]
) -> None:
    asked = answer_to(sales(tmp_path, 1, falls=falls), "Why did the amount fall in Q2 2025?")
    assert asked.values["has_segment"]
    assert set(asked.values["segment"]["labels"]) == set(labels)


@pytest.mark.slow
def test_on_noise_nothing_is_certain_more_often_than_it_may(tmp_path: Path) -> None:
    certain = segments = 0
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        asked = answer_to(sales(folder, seed), "Why did the amount change in Q2 2025?")
        certain += bool(asked.values["is_certain"])
        segments += bool(asked.values["has_segment"])
        assert asked.values["is_certain"] or "nothing certain" in asked.words.casefold()
    assert certain <= 4
    assert segments <= 1


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Are there outliers in amount?", "9 values of amount .EUR. lie far off: 1,659.68 to 16,907"),
        ("What drives the amount?", "goes most with weight kg .72%., segment .49%., product group .4"),
        ("Is quantity related to weight?", "Quantity and weight .kg. go together"),
        ("Is satisfaction related to the newsletter?", "no more than chance may do: nothing certain"),
        ("What is wrong with this data?", "shipping_days is missing in 100% of the rows with channel Store"),
        ("On which weekday do we sell most?", "without values far off all others it is Saturday"),
        ("Why did revenue fall in February 2025?", "what is missing is not zero"),
    ],
)
def test_open_questions_are_told_what_was_planted(shop: Files, words: str, told: str) -> None:
    assert re.search(told, answer_to(shop, words).words)


def test_a_level_that_changed_once_is_told_with_its_day() -> None:
    asked = answer_to(Files(folder=EXAMPLES / "sensors", names=("climate.csv",)), "How did the temperature develop?")
    assert asked.told["headline"].startswith("Average temperature rose in one step at 2025-02-03: 18.7 per day before")


ODD = ("<<when>>", "c'd\"e", "{FIGURE(result)}", "+1/0+", "<<y>> {x}")


def odd_questions() -> Iterator[Question]:
    """Every kind of question, of columns whose names are quotes, holes of our templates and code."""
    when, group, measure, other, second = (NamedColumn(table="odd", column=name) for name in ODD)
    for how in ("sum", "mean"):
        quantity = Quantity(how=how, column=measure, words=ODD[2])
        span = DateRange(words="then", first="2025-02-01", last="2025-02-28")
        only = ValueFilter(column=group, values=("<<value>>",), words='{x} "y" <<what>>')
        plain = Question(kind="figure", quantity=quantity, time=when)
        yield replace(plain, spans=(span,), filters=(only,))
        yield from (replace(plain, kind=kind, by=(group,)) for kind in ("ranking", "groups", "trend"))
        yield from (replace(plain, kind="ranking", part=part) for part in ("weekday", "month"))
        yield replace(plain, kind="change", spans=(span,))
        yield replace(plain, kind="drivers")
        yield replace(plain, kind="relation", by=(other,))
        yield replace(plain, kind="outliers")
        yield replace(plain, kind="relation", quantity=Quantity(how="count", table="odd"), by=(group, second))
        if how == "sum":
            yield replace(plain, kind="share", filters=(only,))
            yield replace(plain, kind="share", filters=(only,), by=(second,))


def test_no_name_or_value_of_a_file_becomes_code(tmp_path: Path) -> None:
    with (tmp_path / "odd.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(ODD)
        for number in range(400):
            day = date(2024, 12, 1) + timedelta(days=number // 4)
            group, second = ("<<value>>", "b{y}", 'c"d')[number % 3], ("u", "v")[number % 2]
            writer.writerow([day, group, number * 37 % 101 + 0.5, number * 11 % 17 + 0.25, second])
    files = Files(folder=tmp_path, names=("odd.csv",))
    assert [column.name for column in files.profile.tables[0].columns] == list(ODD)
    shared: dict[str, Any] = {
        "table": "odd",
        "test": "t{x}",
        "n": 9,
        "statistic": 1.0,
        "p": 0.0,
        "p_adjusted": 0.0,
        "effect": 0.9,
    }
    shared |= {
        "effect_name": 'e"f',
        "low": 0.8,
        "high": 1.0,
        "checked": "<<n>>",
        "says": 'x" {y} <<x>>',
        "is_finding": True,
    }
    pairs: dict[TestKind, tuple[int, int]] = {
        "difference": (2, 1),
        "correlation": (2, 3),
        "association": (4, 1),
        "break": (2, 0),
    }
    tests = [TestRow(kind=kind, y=ODD[y], x=ODD[x], **shared) for kind, (y, x) in pairs.items()]
    for question in (*odd_questions(), Question(kind="overview"), Question(kind="quality")):
        for row in tests if question.kind == "overview" else ():
            assert isinstance(answered(files, question, [row]), Asked)
        asked = answered(files, question)
        assert isinstance(asked, Asked), (question.kind, asked)
        assert asked.told["headline"]


@pytest.mark.slow
def test_files_called_like_what_a_notebook_computes_get_other_names(tmp_path: Path) -> None:
    for name in ("change", "result", "segments"):
        files = sales(tmp_path, 3)
        (tmp_path / "sales.csv").rename(tmp_path / f"{name}.csv")
        asked = answer_to(replace_name(files, f"{name}.csv"), "Why did the amount change in Q2 2025?")
        assert asked.told["headline"]


def replace_name(files: Files, name: str) -> Files:
    return Files(folder=files.folder, names=(name,))


def test_names_that_are_markup_stay_text(tmp_path: Path) -> None:
    rows = "".join(f"{number % 7 + 1},<img src=x onerror=alert(1)>,{number * 37 % 41}\n" for number in range(60))
    (tmp_path / "odd.csv").write_text("<script>a</script>,=cmd|' /C calc'!A0,{{x}}\n" + rows)
    asked = answer_to(Files(folder=tmp_path, names=("odd.csv",)), "")
    shown = next(cell for cell in asked.notebook.answer if cell.name == "report_headline")
    html = eval(shown.code, asked.values).text  # the analyst's own cell
    assert "<script" not in html
    assert "<img" not in html


@pytest.mark.sampled(len(SETS), often=32)
@pytest.mark.parametrize("hostile", [each for each in SETS if not each.is_huge], ids=lambda each: each.name)
def test_hostile_data_gets_an_answer_in_words_to_every_open_question(hostile: HostileSet, tmp_path: Path) -> None:
    hostile.make(tmp_path)
    files = Files(folder=tmp_path, names=tuple(sorted(path.name for path in tmp_path.iterdir())))
    if hostile.refused or not any(table.columns and table.looked_at for table in files.profile.tables):
        return
    for words in ("Tell me about this data.", "What is wrong with this data?", "How many rows are there?"):
        asked = answer_to(files, words)
        assert asked.told["headline"]
        assert sum(len(cell.code.splitlines()) for cell in (*asked.notebook.data, *asked.notebook.answer)) < 500


def test_spans_and_figures_are_said_as_people_say_them() -> None:
    assert [brief.short(each, "€") for each in (58_712.4, -16_935.6, 432_100, 91.3, 1_234.5, 0.052, 4_100_000)] == [
        *("€58.7k", "-€16.9k", "€432k", "€91.3", "€1,234", "€0.052", "€4.1m"),
    ]
    spans = (("2025-07-01", "2025-09-30"), ("2024-01-01", "2024-12-31"), ("2025-03-01", "2025-03-31"))
    assert [brief.named(each) for each in spans] == ["Q3 2025", "2024", "March 2025"]
    assert brief.named(("2025-03-01", "2025-04-02")) == "2025-03-01 to 2025-04-02"
    rows = pd.DataFrame(
        {"day": pd.to_datetime(["2025-06-30", "2025-07-01", "2025-09-30 23:59", "2025-10-01"], format="mixed")}
    )
    assert len(brief.during(rows, "day", spans[0])) == 2
