"""A whole notebook of the analyst in a real kernel: every section written and run in turn, as a run does it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path

from cellwright.analyst import drafts
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.sections import conclusion, findings, overview, quality, tables
from cellwright.analyst.sections import hypothesis_tests as testing
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.profiles.profile import Profile, ProfileRequest, read_profile
from cellwright_guest.profiling.main import answer
from tests.analyst.sections.section_notebook import SectionNotebook, open_section_notebook

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
OVERVIEW = AnalysisRequest(purpose="overview")


@dataclass(slots=True, kw_only=True)
class WholeNotebook:
    """A notebook that stands."""

    written: SectionNotebook
    names: NotebookNames
    tests: list[drafts.TestRow]
    sections: dict[str, drafts.Section]

    @property
    def claims(self) -> list[str]:
        """What the cells of findings show."""
        cells = [cell.name for cell in self.sections["findings"].cells if cell.name.endswith("_finding")]
        return [self.written.shown(cell) for cell in cells]

    async def answer(self) -> str:
        """The answer as it is at this moment."""
        return str((await self.written.values("answer_text"))["answer_text"])

    def page(self, *sections: str) -> list[tuple[str, str]]:
        """What cells show, by name; tables aside, whose widgets have ids of their own."""
        cells = [cell for name in sections for cell in self.sections[name].cells if "ui.table" not in cell.code]
        return [(cell.name, self.written.shown(cell.name)) for cell in cells]


@asynccontextmanager
async def served(
    opened: Opener, project: Path, profile: Profile, wanted: AnalysisRequest, *, looks: bool = False
) -> AsyncGenerator[WholeNotebook]:
    """The notebook of this profile's files, which lie in the project; with first looks where asked for."""
    paths = [table.reading.path for table in profile.tables]
    async with open_section_notebook(opened, project, *paths) as written:
        names = name_tables(profile, written.paths, wanted=wanted)
        made = [
            tables.tables_section(profile=profile, names=names, wanted=wanted),
            quality.quality_section(profile=profile, names=names, wanted=wanted),
            *([overview.overview_section(profile=profile, names=names, wanted=wanted)] if looks else []),
            testing.test_section(profile=profile, names=names, wanted=wanted),
        ]
        for section in made:
            await written.write(section)
        tests = [drafts.TestRow(**row) for row in await written.evaluate('tests.to_dict("records")')]
        for write in (findings.findings_section, conclusion.conclusion_section):
            made.append(write(profile=profile, names=names, wanted=wanted, tests=tests))
            await written.write(made[-1])
        yield WholeNotebook(written=written, names=names, tests=tests, sections={each.id: each for each in made})


def profiled(project: Path, *paths: str) -> Profile:
    """The profile as the program in the cage makes it, here without a cage."""
    with chdir(project):
        return read_profile(answer(ProfileRequest(paths=paths)))
