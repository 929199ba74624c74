"""A whole notebook of the analyst in a real kernel: every section written and run in turn, as a run does it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path

from cellwright.analyst import drafts
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.profile import Profile, ProfileRequest, read_profile
from cellwright.analyst.sections import conclusion, findings, overview, quality, tables
from cellwright.analyst.sections import hypothesis_tests as testing
from cellwright.kernel import OpenNotebook
from cellwright_guest.profiling.main import answer
from tests.analyst.writing.kitchen import Kitchen, open_kitchen

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
OVERVIEW = AnalysisRequest(purpose="overview")


@dataclass(slots=True, kw_only=True)
class Served:
    """A notebook that stands."""

    kitchen: Kitchen
    names: NotebookNames
    tests: list[drafts.TestRow]
    sections: dict[str, drafts.Section]

    @property
    def claims(self) -> list[str]:
        """What the cells of findings show."""
        cells = [cell.name for cell in self.sections["findings"].cells if cell.name.endswith("_finding")]
        return [self.kitchen.shown(cell) for cell in cells]

    async def answer(self) -> str:
        """The answer as it is at this moment."""
        return str((await self.kitchen.values("answer_text"))["answer_text"])

    def page(self, *sections: str) -> list[tuple[str, str]]:
        """What cells show, by name; tables aside, whose widgets have ids of their own."""
        cells = [cell for name in sections for cell in self.sections[name].cells if "ui.table" not in cell.code]
        return [(cell.name, self.kitchen.shown(cell.name)) for cell in cells]


@asynccontextmanager
async def served(
    opened: Opener, project: Path, profile: Profile, wanted: AnalysisRequest, *, looks: bool = False
) -> AsyncGenerator[Served]:
    """The notebook of this profile's files, which lie in the project; with first looks where asked for."""
    paths = [table.reading.path for table in profile.tables]
    async with open_kitchen(opened, project, *paths) as kitchen:
        names = name_tables(profile, kitchen.paths, wanted=wanted)
        made = [
            tables.tables_section(profile=profile, names=names, wanted=wanted),
            quality.quality_section(profile=profile, names=names, wanted=wanted),
            *([overview.overview_section(profile=profile, names=names, wanted=wanted)] if looks else []),
            testing.test_section(profile=profile, names=names, wanted=wanted),
        ]
        for section in made:
            await kitchen.cook(section)
        tests = [drafts.TestRow(**row) for row in await kitchen.evaluate('tests.to_dict("records")')]
        for write in (findings.findings_section, conclusion.conclusion_section):
            made.append(write(profile=profile, names=names, wanted=wanted, tests=tests))
            await kitchen.cook(made[-1])
        yield Served(kitchen=kitchen, names=names, tests=tests, sections={each.id: each for each in made})


def profiled(project: Path, *paths: str) -> Profile:
    """The profile as the program in the cage makes it, here without a cage."""
    with chdir(project):
        return read_profile(answer(ProfileRequest(paths=paths)))
