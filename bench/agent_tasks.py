"""Ten small tasks of an agent, each scripted twice: as programs over its tools, and as calls of them.

The scripts are as short as we could make them. Calls are written in rounds: what needs nothing of one another stands in
one round, and `finish` joins the last one where the answer does not depend on it. A model that makes one call at a time
makes the same calls, one after the other. Cells compute too, so a loop over data is one call in every style; and in two
of the ten tasks the model must read something before it can go on, whatever its style.

The prompt says what functions take, not what they give back. So a task's first program takes nothing out of a result:
the whole comes back, and only the next program, which the model writes after reading it, may rely on its shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cellwright.testing import CallTool

Rounds = tuple[tuple[CallTool, ...], ...]
"""Answers of a model; each is calls made at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be done, how each style does it, and how things stand afterwards."""

    goal: str
    programs: Rounds
    """In code mode."""
    calls: Rounds
    """Tool by tool."""
    cells: Mapping[str, str] = field(default_factory=dict[str, str])
    """The notebook at the beginning, by the cells' names."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The project at the beginning, beside the notebook."""
    rests_on: tuple[str, ...] = ()
    """What the model must have read when it gives its answer."""
    cells_after: Mapping[str, str] = field(default_factory=dict[str, str])
    """Cells that are different at the end, or new; all others are as they were."""
    values_after: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables at the end, as a preview shows them."""
    files_after: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that are different at the end."""


def _program(code: str) -> CallTool:
    return CallTool("run_program", {"code": code.strip()})


def _apply(*edits: dict[str, Any]) -> CallTool:
    return CallTool("apply", {"edits": list(edits)})


def _create(name: str, code: str) -> dict[str, Any]:
    return {"op": "create", "name": name, "code": code}


def _edit(cell: str, version: int, code: str) -> dict[str, Any]:
    return {"op": "edit", "cell": cell, "base_version": version, "code": code}


def _read(path: str) -> CallTool:
    return CallTool("read_file", {"path": path})


def _finish(answer: str, summary: str = "Done as asked.") -> CallTool:
    return CallTool("finish", {"summary": summary, "answer": answer})


# ── reading files ──

_REPORTS: Final = {
    "reports/week1.md": "# Week 1\n\nThe pump stood still for two days.\nWe agreed to order a second seal.\n",
    "reports/week2.md": "# Week 2\n\nThe seal came, too small.\nIt goes back, and Ines asks another maker.\n",
    "reports/week3.md": "# Week 3\n\nPressure is steady now.\nFrom Monday the night shift reads the meter.\n",
    "reports/week4.md": "# Week 4\n\nNothing broke.\nThe spare pump is sold in spring.\n",
}
_REPORTED: Final = _finish("1: order a second seal. 2: another maker. 3: night shift reads. 4: sell the spare pump.")

SUM_UP_REPORTS: Final = Task(
    goal="What did the four weekly reports, reports/week1.md to week4.md, decide? One line each.",
    files=_REPORTS,
    programs=(
        (
            _program("""
import asyncio
texts = await asyncio.gather(*[read_file(f'reports/week{number}.md') for number in range(1, 5)])
print(*texts)
"""),
        ),
        (_REPORTED,),
    ),
    calls=(tuple(_read(path) for path in _REPORTS), (_REPORTED,)),
    rests_on=("second seal", "another maker", "night shift", "sold in spring"),
)

_LETTERS: Final = {
    "letters/01.txt": "From: Abel\nThe parcel came late, but it came.\n",
    "letters/02.txt": "From: Bruna\nOrder 1141 broke on the first day.\nI ask for a refund of 40 EUR.\n",
    "letters/03.txt": "From: Chen\nPlease send the invoice again.\n",
    "letters/04.txt": "From: Dora\nOrder 1187 never came.\nA refund would be fair; I paid 65 EUR.\n",
    "letters/05.txt": "From: Emil\nThank you for the quick help.\n",
    "letters/06.txt": "From: Femi\nWrong colour in order 1203.\nRefund me the 22 EUR, or send a blue one.\n",
}
_REFUNDS: Final = _finish("Bruna 40 EUR (order 1141), Dora 65 EUR (order 1187), Femi 22 EUR (order 1203).")

FIND_REFUNDS: Final = Task(
    goal="Who asks for a refund in letters/, for which order, and of how much?",
    files=_LETTERS,
    programs=(
        (_program("await search_files('refund', 'letters')"),),
        (_program("for number in ['02', '04', '06']:\n    print(await read_file(f'letters/{number}.txt'))"),),
        (_REFUNDS,),
    ),
    calls=(
        (CallTool("search_files", {"text": "refund", "path": "letters"}),),
        (_read("letters/02.txt"), _read("letters/04.txt"), _read("letters/06.txt")),
        (_REFUNDS,),
    ),
    rests_on=("Bruna", "1141", "Dora", "1187", "65 EUR", "Femi", "1203"),
)

# ── looking first, then computing ──

_RAIN: Final = "day,gauge,mm\n1,mill,3.5\n1,hill,4.0\n2,mill,0.5\n2,hill,9.5\n3,mill,2.0\n3,hill,1.0\n"
_RAIN_CELL: Final = (
    "import pandas as pd\nrain_by_gauge = pd.read_csv('rain.csv').groupby('gauge')['mm'].sum().to_dict()\nrain_by_gauge"
)
_WETTEST: Final = _finish("hill, 14.5 mm")

READ_A_HEADER_FIRST: Final = Task(
    goal="Which gauge in rain.csv had the most rain? Keep the sums in the notebook.",
    files={"rain.csv": _RAIN},
    programs=(
        (_program("await read_file('rain.csv', lines=5)"),),
        (_program(f"await apply([{_create('rain', _RAIN_CELL)!r}])"),),
        (_WETTEST,),
    ),
    calls=(
        (CallTool("read_file", {"path": "rain.csv", "lines": 5}),),
        (_apply(_create("rain", _RAIN_CELL)),),
        (_WETTEST,),
    ),
    rests_on=("day,gauge,mm", "14.5"),
    cells_after={"rain": _RAIN_CELL},
    values_after={"rain_by_gauge": "{'hill': 14.5, 'mill': 6.0}"},
)

_SALES: Final = {
    f"sales/{region}.csv": "date,amount\n" + "".join(f"2024-05-{day:02d},{day * factor}\n" for day in range(1, days))
    for region, factor, days in (("north", 3, 12), ("south", 5, 29), ("east", 2, 18), ("west", 7, 9))
}
_PROFILE_CELL: Final = (
    "import csv\n"
    "from pathlib import Path\n"
    "profile = {}\n"
    "for _path in sorted(Path('sales').glob('*.csv')):\n"
    "    _rows = list(csv.DictReader(_path.open()))\n"
    "    profile[_path.stem] = (len(_rows), sum(int(_row['amount']) for _row in _rows))\n"
    "profile"
)
_PROFILED: Final = _finish("east 17 rows, 306; north 11, 198; south 28, 2030; west 8, 252")

PROFILE_FILES: Final = Task(
    goal="How many rows has each table in sales/, and what does its column `amount` add up to? Keep that in a cell.",
    files=_SALES,
    programs=(
        (_program(f"await apply([{_create('profile', _PROFILE_CELL)!r}])"),),
        (_PROFILED,),
    ),
    calls=((_apply(_create("profile", _PROFILE_CELL)),), (_PROFILED,)),
    rests_on=("2030", "306", "198", "252"),
    cells_after={"profile": _PROFILE_CELL},
    values_after={"profile": "{'east': (17, 306), 'north': (11, 198), 'south': (28, 2030), 'west': (8, 252)}"},
)

# ── changing cells ──

_PRICES: Final = {
    "prices": "price = [3, 4, 8]",
    "total": "total = sum(price)",
    "highest": "highest = max(price)",
    "mean": "mean = sum(price) / len(price)",
}
_RENAMED: Final = {name: code.replace("price", "unit_price") for name, code in _PRICES.items()}
_RENAMING: Final = [_edit(name, 1, code) for name, code in _RENAMED.items()]

RENAME_A_VARIABLE: Final = Task(
    goal="Rename `price` to `unit_price` in the whole notebook.",
    cells=_PRICES,
    programs=((_program(f"await apply({_RENAMING!r})"), _finish("")),),
    calls=((_apply(*_RENAMING), _finish("")),),
    cells_after=_RENAMED,
    values_after={"total": "15", "highest": "8", "mean": "5.0"},
)

_REGIONS: Final = {
    "rows": "rows = [{'region': 'North', 'sold': 4}, {'region': 'South', 'sold': 9}, {'region': 'North', 'sold': 8}]",
    "north": "north = [row['sold'] for row in rows if row['region'] == 'north']",
    "north_mean": "north_mean = sum(north) / len(north)",
}
_NORTH: Final = "north = [row['sold'] for row in rows if row['region'] == 'North']"
_MENDED: Final = _finish("The region is spelt 'North'; the mean is 6.0.")

MEND_A_CELL: Final = Task(
    goal="The notebook fails. Find out why, and mend it.",
    cells=_REGIONS,
    programs=(
        (_program("await run('all')"),),
        (_program(f"await apply([{_edit('north', 1, _NORTH)!r}])"),),
        (_MENDED,),
    ),
    calls=((CallTool("run", {"cells": "all"}),), (_apply(_edit("north", 1, _NORTH)),), (_MENDED,)),
    rests_on=("ZeroDivisionError", "'North'", "6.0"),
    cells_after={"north": _NORTH},
    values_after={"north_mean": "6.0"},
)

# ── trying out ──

_PIPELINE: Final = {
    "measured": "measured = [(number * 37) % 101 for number in range(400)]",
    "limit": "limit = 10",
    "smooth": "smooth = [(a + 2 * b + c) / 4 for a, b, c in zip(measured, measured[1:], measured[2:])]",
    "kept": "kept = [value for value in smooth if value >= limit]",
    "share": "share = round(len(kept) / len(smooth), 3)",
}
_LIMIT_SET: Final = _finish("limit = 50: with 60 fewer than 40 % are left.")

FIND_A_LIMIT: Final = Task(
    goal="Set `limit` to the largest multiple of 10, of 10 to 90, with which `share` is at least 0.4.",
    cells=_PIPELINE,
    programs=(
        (_program(f"await apply([{_edit('limit', 1, 'limit = 50')!r}])"),),
        (
            _program("""
shares, low, high, version = {50: 0.505}, 5, 9, 2
while low < high:
    middle = (low + high + 1) // 2
    made = await apply([{'op': 'edit', 'cell': 'limit', 'base_version': version, 'code': f'limit = {10 * middle}'}])
    version += 1
    shares[10 * middle] = float([each for each in made['cells'] if each['name'] == 'share'][0]['variables']['share'])
    if shares[10 * middle] >= 0.4:
        low = middle
    else:
        high = middle - 1
await apply([{'op': 'edit', 'cell': 'limit', 'base_version': version, 'code': f'limit = {10 * low}'}])
[10 * low, shares]
"""),
        ),
        (_LIMIT_SET,),
    ),
    calls=(
        (_apply(_edit("limit", 1, "limit = 50")),),
        (_apply(_edit("limit", 2, "limit = 60")),),
        (_apply(_edit("limit", 3, "limit = 50")), _LIMIT_SET),
    ),
    rests_on=("0.505", "0.209"),
    cells_after={"limit": "limit = 50"},
    values_after={"share": "0.505"},
)

_FILLING: Final = {
    "readings": "readings = [12.0, 13.1, None, 12.7, 30.0, None, 13.4, 12.9]\ntruth = {2: 12.8, 5: 13.3}",
    "filled": "_known = [each for each in readings if each is not None]\n"
    "filled = [sum(_known) / len(_known) if each is None else each for each in readings]",
    "error": "error = round(max(abs(filled[place] - value) for place, value in truth.items()), 2)",
}
_MEDIAN: Final = (
    "import statistics\n"
    "_median = statistics.median(each for each in readings if each is not None)\n"
    "filled = [_median if each is None else each for each in readings]"
)
_CARRIED: Final = "filled = []\nfor _each in readings:\n    filled.append(filled[-1] if _each is None else _each)"
_FILLED: Final = _finish("The median is best: 0.3, against 2.88 (mean) and 16.7 (carried forward).")

CHOOSE_A_METHOD: Final = Task(
    goal="Fill `readings` with the mean as now, the median, or by carrying forward: keep what makes `error` least.",
    cells=_FILLING,
    programs=(
        (
            _program(f"""
print(await run('all'))
print(await apply([{_edit("filled", 1, _MEDIAN)!r}]))
print(await apply([{_edit("filled", 2, _CARRIED)!r}]))
"""),
        ),
        (_program("await undo()"), _FILLED),
    ),
    calls=(
        (CallTool("run", {"cells": "all"}), _apply(_edit("filled", 1, _MEDIAN)), _apply(_edit("filled", 2, _CARRIED))),
        (CallTool("undo", {}), _FILLED),
    ),
    rests_on=("2.88", "0.3", "16.7"),
    cells_after={"filled": _MEDIAN},
    values_after={"error": "0.3"},
)

_OUTLIERS: Final = {
    "lengths": "lengths = [9.0, 9.5, 10.0, 10.5, 11.0, 40.0]",
    "usual": "usual = [each for each in lengths if each < 20]",
    "mean_length": "mean_length = sum(usual) / len(usual)",
}
_BOTH: Final = "both_means = (sum(usual) / len(usual), sum(lengths) / len(lengths))"
_CHANGED: Final = _finish("Yes: 15.0 instead of 10.0.")

TRY_AND_TAKE_BACK: Final = Task(
    goal="Would the mean length change by more than 5 % if nothing was left out? Leave the notebook as it is.",
    cells=_OUTLIERS,
    programs=(
        (
            _program(f"""
made = await apply([{_create("both", _BOTH)!r}])
await undo()
made
"""),
        ),
        (_CHANGED,),
    ),
    calls=((_apply(_create("both", _BOTH)), CallTool("undo", {})), (_CHANGED,)),
    rests_on=("15.0", "10.0"),
)

# ── changing files ──

_LICENCE: Final = "# SPDX-License-Identifier: MIT"
_MODULES: Final = {
    f"lib/{name}.py": f'"""{name.title()} of the mill."""\n\n{name} = {number}\n'
    for number, name in enumerate(("gates", "pumps", "rates", "wheels"))
}

ADD_A_LINE_TO_FILES: Final = Task(
    goal=f"Put the line `{_LICENCE}` on top of every Python file in lib/.",
    files=_MODULES,
    programs=(
        (_program("await search_files('\"\"\"', 'lib', '*.py')"),),
        (
            _program(f"""
for name in ['gates', 'pumps', 'rates', 'wheels']:
    first = '\"\"\"' + name.title() + ' of the mill.\"\"\"'
    await edit_file(f'lib/{{name}}.py', first, '{_LICENCE}\\n' + first)
"""),
            _finish(""),
        ),
    ),
    calls=(
        (CallTool("search_files", {"text": '"""', "path": "lib", "names": "*.py"}),),
        (
            *(
                CallTool("edit_file", {"path": path, "old": (old := text.split("\n")[0]), "new": f"{_LICENCE}\n{old}"})
                for path, text in _MODULES.items()
            ),
            _finish(""),
        ),
    ),
    files_after={path: f"{_LICENCE}\n{text}" for path, text in _MODULES.items()},
)

TASKS: Final[Mapping[str, Task]] = {
    "sum up four reports": SUM_UP_REPORTS,
    "find who wants a refund": FIND_REFUNDS,
    "read a header first": READ_A_HEADER_FIRST,
    "profile four tables": PROFILE_FILES,
    "rename a variable": RENAME_A_VARIABLE,
    "mend a cell": MEND_A_CELL,
    "find a limit": FIND_A_LIMIT,
    "choose a method": CHOOSE_A_METHOD,
    "try and take back": TRY_AND_TAKE_BACK,
    "add a line to files": ADD_A_LINE_TO_FILES,
}
