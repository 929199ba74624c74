"""Repairs: each a switch that counts what it touches; nothing is changed without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.methods.conversions import as_date, as_flag, as_number
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.sections.quality import quality_section
from cellwright.analyst.sections.repairs import repairs_for
from cellwright.analyst.sections.tables import tables_section
from cellwright.profiles.profile import Profile
from tests.analyst.sections.section_notebook import Opener, SectionNotebook, open_section_notebook, profile_of

MESSY = """when;region;amount;age;ok
2024-01-01;North;1.234,50 €;9999;yes
{rows}
when;region;amount;age;ok
Total;;9.999,00 €;;
2024-02-03;n/a;-6,00 €;31;
Source: the shop; of us; all; and; more; than; there; are
"""


def messy() -> str:
    regions = ["North", "South", " West", "North", "north", "East"]
    rows = [
        f"{f'{at % 28 + 1:02}.01.2024' if at % 4 == 0 else f'2024-01-{at % 28 + 1:02}'};{regions[at % 6]};"
        f"{at},{at % 10}0 €;{9999 if at % 20 == 3 else 20 + at % 40};{'no' if at % 3 else 'yes'}"
        for at in range(120)
    ]
    return MESSY.format(rows="\n".join([*rows, rows[5]]))


async def served(written: SectionNotebook, profile: Profile) -> NotebookNames:
    names = name_tables(profile, written.paths)
    for make in (tables_section, quality_section):
        await written.write(make(profile=profile, names=names, wanted=AnalysisRequest(purpose="overview")))
    return names


async def log_of(written: SectionNotebook) -> dict[str, int]:
    rows = await written.evaluate("sales_repaired.values.tolist()")
    return {name: touched for name, _, touched in rows}


@pytest.mark.slow
async def test_certain_repairs_are_on_and_those_of_judgement_off(opened: Opener, project: Path) -> None:
    (project / "sales.csv").write_text(messy(), encoding="utf-8")
    profile = profile_of(project, "sales.csv")
    async with open_section_notebook(opened, project, "sales.csv") as written:
        await served(written, profile)
        switches = (await written.values("sales_repairs"))["sales_repairs"]
        assert switches == {
            "footnotes": True,
            "repeated headers": True,
            "total rows": True,
            "duplicate rows": False,
            "spaces around text": True,
            "words for nothing": True,
            "numbers as text": True,
            "dates in several formats": True,
            "sentinels": True,
            "similar labels": False,
        } | dict.fromkeys(switches.keys() & {"near-duplicate rows", "outliers", "negative values"}, False)
        log = await log_of(written)
        assert (log["footnotes"], log["repeated headers"], log["total rows"], log["duplicate rows"]) == (1, 1, 1, 1)
        assert (log["spaces around text"], log["words for nothing"], log["sentinels"]) == (20, 1, 7)
        assert log["could not be read"] == 0
        assert await written.evaluate("[len(sales_as_read), len(sales)]") == [126, 123]
        assert await written.evaluate("[str(sales[name].dtype) for name in ('when', 'amount', 'age', 'ok')]") == [
            "datetime64[us]",
            "float64",
            "float64",
            "boolean",
        ]
        assert await written.evaluate("[sales['amount'].iloc[0], sales['when'].isna().sum().item()]") == [1234.5, 0]
        assert await written.complaints() == []
        assert set((await written.check_results()).values()) == {"passed"}


@pytest.mark.slow
async def test_a_switch_changes_the_table_and_never_its_types(opened: Opener, project: Path) -> None:
    (project / "sales.csv").write_text(messy(), encoding="utf-8")
    profile = profile_of(project, "sales.csv")
    async with open_section_notebook(opened, project, "sales.csv") as written:
        await served(written, profile)
        types = await written.evaluate("[str(each) for each in sales.dtypes]")
        before = await log_of(written)
        every = (await written.values("sales_repairs"))["sales_repairs"]
        observation = await written.notebook.set_ui(
            {"sales_repairs": {name: not is_on for name, is_on in every.items()}}
        )
        assert observation.is_ok
        assert await written.evaluate("[str(each) for each in sales.dtypes]") == types
        assert await written.evaluate("len(sales)") == 125
        assert await written.evaluate("sorted(set(sales['region'].dropna()) & {'north', 'n/a', ' West'})") == [
            " West",
            "n/a",
        ]
        assert (await log_of(written)).keys() == before.keys()
        assert set((await written.check_results()).values()) == {"passed"}


@pytest.mark.slow
async def test_two_files_are_joined_without_losing_or_doubling_a_row(opened: Opener, project: Path) -> None:
    orders = "".join(f"{at},{at % 30 + 1:03},{at * 1.5}\n" for at in range(200))
    (project / "orders.csv").write_text(f"order,customer,name\n{orders}")
    customers = "".join(f"{at:03},Person {at},{'north' if at % 2 else 'south'}\n" for at in range(1, 29))
    (project / "customers.csv").write_text(f"customer,name,region\n{customers}")
    profile = profile_of(project, "orders.csv", "customers.csv")
    async with open_section_notebook(opened, project, "orders.csv", "customers.csv") as written:
        (joint,) = (await served(written, profile)).joined
        assert [each.name for each in joint.columns] == ["order", "customer", "name", "name_customers", "region"]
        assert await written.evaluate("list(orders_with_customers.columns)") == [each.name for each in joint.columns]
        assert await written.evaluate("len(orders_with_customers)") == 200
        assert await written.evaluate("orders_with_customers['region'].isna().sum().item()") == 12
        assert "94.0% of 200 rows found a partner" in written.shown("about_orders_with_customers")
        assert set((await written.check_results()).values()) == {"passed"}


def test_a_clean_table_needs_no_repair(project: Path) -> None:
    (project / "clean.csv").write_text("a,b\n" + "".join(f"{at},{at % 7}\n" for at in range(50)))
    (table,) = profile_of(project, "clean.csv").tables
    assert repairs_for(table) == ()


# ── the functions that the notebook carries ──


@pytest.mark.parametrize(
    ("texts", "how", "expected"),
    [
        (["1.234,5 €", "-2,0 €", None], {"decimal": ",", "thousands": ".", "suffix": "€"}, [1234.5, -2.0, None]),
        (["$1,200.50", "−$3"], {"thousands": ",", "prefix": "$"}, [1200.5, -3.0]),
        (["12 %", "0.5 %"], {"suffix": "%", "scale": 0.01}, [0.12, 0.005]),
        (["(12)", "7"], {"brackets": True}, [-12.0, 7.0]),
        (["2 kg", "10 lb", "1 stone"], {"suffix": "kg", "units": {"lb": 0.5, "stone": 0}}, [2.0, 5.0, None]),
        (["1 200,5", "1\u202f300"], {"decimal": ",", "thousands": " "}, [1200.5, 1300.0]),
        (["1.5", "x"], {"decimal": ","}, [None, None]),
        (["007", "inf", "1e3"], {}, [7.0, float("inf"), 1000.0]),
    ],
)
def test_numbers_are_read_however_they_are_written(
    texts: Any, how: dict[str, Any], expected: Sequence[float | None]
) -> None:
    read = as_number(pd.Series(texts, dtype="str"), **how)
    assert [None if pd.isna(each) else pytest.approx(each) for each in read] == list(expected)


def test_dates_are_read_by_the_first_format_that_fits() -> None:
    read = as_date(pd.Series(["2024-01-31", "31.12.2023", "31.02.2024", None], dtype="str"), ["%Y-%m-%d", "%d.%m.%Y"])
    assert [None if pd.isna(each) else each.isoformat() for each in read] == [
        "2024-01-31T00:00:00",
        "2023-12-31T00:00:00",
        None,
        None,
    ]


def test_moments_with_a_zone_become_universal_time() -> None:
    read = as_date(pd.Series(["2024-01-01T00:30:00+02:00"], dtype="str"), ["%Y-%m-%dT%H:%M:%S%z"])
    assert read.iloc[0].isoformat() == "2023-12-31T22:30:00"
    typed = as_date(pd.Series(pd.to_datetime(["2024-07-01"])).dt.tz_localize("Europe/Berlin"))
    assert typed.iloc[0].isoformat() == "2024-06-30T22:00:00"


def test_flags_keep_what_is_missing_missing() -> None:
    read = as_flag(pd.Series(["Ja", "nein", "vielleicht", None], dtype="str"), ["ja"], ["nein"])
    assert [None if pd.isna(each) else bool(each) for each in read] == [True, False, None, None]
