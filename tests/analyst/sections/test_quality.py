"""Quality: every problem is told with what can be done about it, and the notebook stands on odd data."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cellwright.analyst.drafts import Section
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.overview import overview_section
from cellwright.analyst.sections.quality import quality_section
from cellwright.analyst.sections.tables import tables_section
from cellwright.profiles.profile import ColumnProfile, Oddity, Profile, ReadOptions, TableProfile
from tests.analyst.sections.section_notebook import Opener, SectionNotebook, open_section_notebook, profile_of

OVERVIEW = AnalysisRequest(purpose="overview")
UGLY = [
    'a"b', "new\nline", "back\\slash", "{brace}", '"""triple"""', "it's", "x:Q", "a.b[0]", "<b>bold</b>", "$math$",
    "|pipe|", "  spaces ", "😀", "日本", "A" * 300, "`tick`", "#hash", "_under", "rows", "value", "when", "",
]  # fmt: skip


def text(rows: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue()


def ugly_names() -> str:
    labels = ["red", 'gr"een', "new\nline", "{x}", "\\"]
    return text(
        [UGLY, *[[str(at * 7 % 50) if of % 2 else labels[(at + of) % 5] for of in range(22)] for at in range(80)]]
    )


def wide() -> str:
    names = [f"column_{at}_has_a_long_name" for at in range(500)]
    values = [
        [f"{at + of},5 €" if of % 2 else ["a", "n/a", " b"][(at + of) % 3] for of in range(500)] for at in range(40)
    ]
    return text([names, *values])


ODD = {
    "names": ugly_names(),
    "wide": wide(),
    "one_row": "a,b,c\n1,x,2024-01-01\n",
    "all_null": "a,b,c\n" + ",,\n" * 30,
    "twins": "a,a,a,b\n" + "1,2,3,x\n4,5,6,y\n" * 20,
    "huge": "a,b\n1," + "x" * 300_000 + "\n2,short\n3,z\n",
    "endless": "a,b\n"
    + "".join(f"{each},{at}\n" for at, each in enumerate(["inf", "-inf", "1e308", "-1e308", "5"] * 9)),
}


async def write_sections(written: SectionNotebook, profile: Profile) -> tuple[Section, ...]:
    names = name_tables(profile, written.paths)
    sections = tuple(
        make(profile=profile, names=names, wanted=OVERVIEW)
        for make in (tables_section, quality_section, overview_section)
    )
    for section in sections:
        await written.write(section)
    return sections


@pytest.mark.slow
async def test_odd_files_give_a_notebook_that_runs_and_reads_well(opened: Opener, project: Path) -> None:
    for name, content in ODD.items():
        (project / f"{name}.csv").write_text(content, encoding="utf-8")
    files = [f"{name}.csv" for name in ODD]
    profile = profile_of(project, *files)
    assert {table.name for table in profile.tables} == ODD.keys()
    async with open_section_notebook(opened, project, *files) as written:
        sections = await write_sections(written, profile)
        assert await written.complaints() == []
        promised = {test for section in sections for test, _ in section.checks}
        results = await written.check_results()
        assert results == dict.fromkeys(promised, "passed")


@pytest.mark.slow
async def test_the_same_profile_gives_the_same_notebook_and_the_same_results(opened: Opener, project: Path) -> None:
    penguins = Path(__file__).parents[3] / "examples/data/penguins.csv"
    (project / "penguins.csv").write_bytes(penguins.read_bytes())
    profile = profile_of(project, "penguins.csv")
    assert profile == profile_of(project, "penguins.csv")
    async with open_section_notebook(opened, project, "penguins.csv") as written:
        sections = await write_sections(written, profile)
        assert await written.complaints() == []
        drawn = [cell.name for section in sections for cell in section.cells if "alt.Chart(" in cell.code]
        first = {name: output.data for name in drawn if (output := written.outcome(name).output)}
        assert len(first) == len(drawn) > 3
        again = await written.notebook.run("all")
        assert again.is_ok
        second = {name: output.data for name in drawn if (output := written.outcome(name).output)}
        assert second == first


def test_problems_stand_with_the_gravest_first_and_what_can_be_done() -> None:
    oddities = (
        Oddity(kind="skewed", says="It is skewed.", column="a", count=9, severity="note"),
        Oddity(kind="sentinel", says="It holds 9999.", column="a", count=3, values=("9999",), severity="problem"),
        Oddity(kind="duplicate-rows", says="2 rows repeat.", count=2),
    )
    section = quality_of(oddities)
    problems = next(cell for cell in section.cells if cell.name == "t_problems").code
    rows = [line.strip() for line in problems.splitlines() if line.strip().startswith('["')]
    assert rows == [
        '["problem", "a", "It holds 9999.", 3, "switch: sentinels"],',
        '["warning", "", "2 rows repeat.", 2, "switch: duplicate rows"],',
        '["note", "a", "It is skewed.", 9, "know of it"],',
    ]
    trust = next(cell for cell in section.cells if cell.name == "how_far_to_trust_it").code
    assert "Use it with care: 1 serious problem and 1 lesser one" in trust
    assert section.caveats == ("t: It holds 9999.",)


@pytest.mark.parametrize("value", ['"""', "{__import__('os')}", "\\", "`${x}`", "<script>"])
def test_words_of_a_file_never_become_code_or_markup(value: str) -> None:
    oddities = (
        Oddity(kind="sentinel", says=f"It holds {value}.", column=value, count=3, values=(value,)),
        Oddity(kind="near-duplicate-labels", says=value, column=value, count=1, values=(value, value * 2)),
        Oddity(kind="total-rows", says=value, column=value, count=1, values=(value,)),
    )
    section = quality_of(oddities, column=value)
    for cell in section.cells:
        compile(cell.code, cell.name, "exec")
        if cell.is_words:
            assert value not in cell.code.replace('mo.md(r"""', "").replace('mo.md(rf"""', "").removesuffix('""")')


def quality_of(oddities: tuple[Oddity, ...], column: str = "a") -> Section:
    one = ColumnProfile(name=column, kind="text", meaning="category", count=90, distinct=9)
    table = TableProfile(
        name="t",
        reading=ReadOptions(path="t.csv", format="csv"),
        rows=90,
        looked_at=90,
        columns=(one,),
        oddities=oddities,
    )
    profile = Profile(tables=(table,))
    return quality_section(profile=profile, names=name_tables(profile, {"t.csv": "t_csv"}), wanted=OVERVIEW)
