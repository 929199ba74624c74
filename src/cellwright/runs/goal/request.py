"""What a person typed, as a goal: every mistake is said before anything starts."""

from __future__ import annotations

import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

from cellwright.data.files import parse_data
from cellwright.data.remote_paths import RemotePath
from cellwright.documents.document_files import check_documents
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.policy.money import is_amount
from cellwright.remedies import remedy
from cellwright.runs.goal.extraction_order import ExtractionOrder
from cellwright.runs.goal.goal import ANALYST, NAME_DATA, AnalysisDepth, Approve, Effort, Goal, GoalKind
from cellwright.runs.research.form import read_form
from cellwright.sandbox.host.project import project_of
from cellwright.sandbox.spec import Limits
from cellwright.tools.evidence.web_search import BY_CONNECTION, read_search

LONGEST: Final = 20_000
"""Characters of a goal."""
_SLUG: Final = 48
_MODEL: Final = re.compile(r"[^\s:]+:\S+")
APPROVE_WORDS: Final[tuple[Approve, ...]] = get_args(Approve)
EFFORT_WORDS: Final[tuple[Effort, ...]] = get_args(Effort)
DEPTH_WORDS: Final[tuple[AnalysisDepth, ...]] = get_args(AnalysisDepth)
_Word = TypeVar("_Word", bound=str)
EXAMPLE: Final = "why did revenue fall in Q3?"
OVERVIEW: Final = "Give an overview of this data"
"""What is meant by data without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRequest:
    """What a person typed, word for word."""

    words: str
    data: Sequence[str] = ()
    connections: Sequence[str] = ()
    tools: Sequence[str] = ()
    context: Sequence[str] = ()
    notebook: Path | None = None
    kernels: Sequence[str] = ()
    attach: str = ""
    attach_file: str = ""
    models: Sequence[str] = ()
    budget: str | None = None
    approve: str = "ask"
    is_private: bool = False
    priority: int = 0
    python: Literal["header", "ours"] = "header"
    project: Path | None = None
    limits: Sequence[str] = ()
    depth: str = "answer"
    effort: str = "normal"
    wants: GoalKind = "answer"
    answer: str = ""
    sources: Sequence[str] = ()
    """Documents and folders of them, where a research reads."""
    uses_web: bool = False
    search: str = ""
    """The engine, as `searxng:https://…` or `brave:CONNECTION`."""
    form: str = "report"
    """What a research is written as: one of ours, or the path of a template."""
    extraction: ExtractionOrder | None = None


FindRemote = Callable[[str], RemotePath | None]
"""The file behind a connection that a word means, if it means one. Raises `UserError`."""
HasData = Callable[[Path], bool]
"""Whether a project has data of its own; what knows that takes long to load."""


def read_goal(
    typed: GoalRequest,
    *,
    person: str,
    here: Path,
    taken: Collection[str] = (),
    has_data: HasData = lambda project: True,
    known_connections: Collection[str] = (),
    find_remote: FindRemote = lambda _: None,
    apis: Collection[str] = (),
    known_tools: Collection[str] = (),
) -> Goal:
    """The goal, its paths absolute. Raises `UserError`. `taken`: notebooks other runs are about to write. Blocking.

    `apis`: the connections that are APIs; `known_tools`: the tool servers there are.
    """
    tools, context = _servers(typed, known_tools)
    for name in typed.connections:
        if name not in known_connections:
            hint = remedy("add_connection", name=name if name.isidentifier() else "NAME")
            raise UserError(f"No connection is called {name[:80]!r}.", hint=hint)
    searched = _search_connection(typed, known_connections)
    words = read_words(typed.words)
    if typed.notebook is None:
        notebook = new_notebook_path(words, here, taken)
    else:
        notebook = _notebook(here / typed.notebook.expanduser())
    project = _project(notebook, None if typed.project is None else here / typed.project.expanduser())
    if typed.attach:
        _check_attached(typed, notebook)
    found = {word: find_remote(word) for word in typed.data if not (here / word).exists()}
    remote = {each.words: each for each in found.values() if each is not None}
    local = [word for word in typed.data if found.get(word) is None]
    data = tuple(file.words for file in parse_data(local, here=here, notebook=notebook, project=project))
    models = _models(typed.models)
    if typed.wants not in {"answer", "research"} and not notebook.is_file():
        raise UserError(f"No notebook at {str(notebook)!r}.", hint="Name a marimo notebook that is there.")
    # Raises for a mistake in them.
    Limits.parse(typed.limits)
    approve = _one_of("way to approve", typed.approve, APPROVE_WORDS)
    depth = _one_of("depth", typed.depth, DEPTH_WORDS)
    effort = _one_of("effort", typed.effort, EFFORT_WORDS)
    if models == (ANALYST,):
        _check_analyst(typed, apis)
        if typed.wants == "answer" and not (data or remote or typed.connections or has_data(project)):
            raise UserError(f"There is no data in {str(project)!r}.", hint=NAME_DATA)
    form, template = read_form(typed.form, here) if typed.wants == "research" else ("report", "")
    return Goal(
        words=words,
        notebook=str(notebook),
        project=str(project),
        person=person,
        data=data,
        connections=tuple(
            dict.fromkeys([*typed.connections, *searched, *(each.connection for each in remote.values())])
        ),
        files=tuple(remote),
        tools=tools,
        context=context,
        kernels=tuple(dict.fromkeys(typed.kernels)),
        attach=typed.attach,
        attach_file=typed.attach_file,
        models=models,
        budget_usd=None if typed.budget is None else read_budget(typed.budget),
        approve=approve,
        is_private=typed.is_private,
        priority=typed.priority,
        python=typed.python,
        limits=tuple(typed.limits),
        depth=depth,
        effort=effort,
        wants=typed.wants,
        answer=typed.answer[:LONGEST],
        sources=_sources(typed, here),
        uses_web=typed.uses_web or bool(typed.search),
        search=typed.search,
        form=form,
        template=template,
        extraction=typed.extraction,
    )


def _one_of(what: str, typed: str, words: tuple[_Word, ...]) -> _Word:
    """The word that was typed. Raises `UserError`."""
    for word in words:
        if word == typed:
            return word
    raise UserError(f"Unknown {what}: {typed!r}.", hint=f"{', '.join(words)}.")


def _check_analyst(typed: GoalRequest, apis: Collection[str]) -> None:
    """Raises `UserError` for what only models do."""
    if typed.extraction is not None or typed.wants == "research":
        raise UserError("The analyst reads no documents.", hint="Name a model.")
    if api := next((name for name in typed.connections if name in apis), ""):
        raise UserError(
            f"The analyst does not ask APIs, and {api!r} is one.", hint="Choose a model, or name files and databases."
        )


def _check_attached(typed: GoalRequest, copy: Path) -> None:
    """Raises `UserError`, `RefusedByPolicy`."""
    if ANALYST in typed.models:
        raise UserError("The analyst does not change other people's notebooks.", hint="Choose a model.")
    if typed.approve != "ask":
        raise RefusedByPolicy(
            "What runs in an attached notebook runs outside any cage, so somebody must be there to be asked.",
            hint="Let it ask; or work on a copy of the notebook, and hand that back.",
        )
    if os.path.lexists(copy):
        raise UserError(
            f"{str(copy)!r} is there already.", hint="The goal works on a copy first: name a file that is not there."
        )


def _search_connection(typed: GoalRequest, known: Collection[str]) -> tuple[str, ...]:
    """The connection a search engine is asked through. Raises `UserError`."""
    if not typed.search:
        return ()
    engine, where = read_search(typed.search)
    if engine not in BY_CONNECTION:
        return ()
    if where not in known:
        raise UserError(f"No connection is called {where[:80]!r}.", hint=remedy("add_connection", name=where))
    return (where,)


def _sources(typed: GoalRequest, here: Path) -> tuple[str, ...]:
    """Where a research reads: what was named, else the web if that was, else this folder. Raises `UserError`."""
    if typed.wants != "research" or ((typed.uses_web or typed.search) and not typed.sources):
        return ()
    found = [here / Path(word).expanduser() for word in typed.sources or (".",)]
    for word, path in zip(typed.sources, found, strict=False):
        if not path.exists():
            raise UserError(f"There is no file or folder {word[:200]!r}.", hint="Name documents, or folders of them.")
    if not typed.uses_web and not typed.search:
        check_documents(found)
    return tuple(dict.fromkeys(str(path.resolve()) for path in found))


def read_words(typed: str, *, what: str = "goal", example: str = EXAMPLE) -> str:
    """The goal in words. Raises `UserError`, in which it is called `what`, with an example."""
    try:
        # Bytes that are no text come as lone surrogates, which have no place in a record.
        words = typed.encode().decode().strip()
    except UnicodeError as error:
        raise no_text() from error
    if not words:
        raise UserError(f"No {what}.", hint=f'Say what you want, for example "{example}"')
    if len(words) > LONGEST:
        raise UserError(
            f"A goal has at most {LONGEST:,} characters.",
            hint=remedy("add_data", lead="Put longer texts in a file, and", what="it"),
        )
    return words


def no_text() -> UserError:
    """Why a goal that is not UTF-8 is none."""
    return UserError("The goal is no text.", hint="Say it in words, in UTF-8.")


def new_notebook_path(words: str, here: Path, taken: Collection[str] = ()) -> Path:
    """A file for a new notebook, named after the goal, that is not there yet."""
    slug, folder = slug_of(words), here.resolve()
    candidates = (folder / f"{slug}{f'-{number}' if number > 1 else ''}.py" for number in itertools.count(1))
    return next(path for path in candidates if not os.path.lexists(path) and str(path) not in taken)


def slug_of(words: str) -> str:
    """The goal as a file name: `why-did-revenue-fall-in-q3`."""
    plain = unicodedata.normalize("NFKD", words.casefold()).encode("ascii", "ignore").decode()
    found = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in found:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > _SLUG:
            break
        slug = longer
    # A name made of digits alone, or of none of our letters, is still a name.
    return slug or (found[0][:_SLUG] if found else "notebook")


def read_budget(text: str, option: str = "") -> Decimal:
    """An amount of money. Raises `UserError`, which names the option."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not is_amount(amount) or amount <= 0:
        typed = f"{option}: {text!r}" if option else repr(text)
        raise UserError(f"{typed} is no budget.", hint="A positive number of US dollars, e.g. 0.50.")
    return amount


def _servers(typed: GoalRequest, known: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tool servers and what is read of them. Raises `UserError`."""
    for word in typed.context:
        server, colon, address = word.partition(":")
        if not colon or not server or not address:
            raise UserError(f"{word[:200]!r} names nothing to read.", hint="Write SERVER:ADDRESS, as its list has it.")
    engine, where = read_search(typed.search) if typed.search else ("", "")
    tools = dict.fromkeys([*typed.tools, *([where.partition("/")[0]] if engine == "mcp" else [])])
    named = tuple(dict.fromkeys([*tools, *(word.partition(":")[0] for word in typed.context)]))
    for name in named:
        if name not in known:
            hint = remedy("add_tool_server", name=name if name.isidentifier() else "NAME")
            raise UserError(f"No tool server is called {name[:80]!r}.", hint=hint)
    return tuple(tools), tuple(dict.fromkeys(typed.context))


def _notebook(path: Path) -> Path:
    """An existing notebook, read to be sure that it is one; or a new file. Raises `UserError`."""
    place = path.resolve()
    if place.suffix != ".py":
        raise UserError(f"{str(path)!r} is no notebook.", hint="A marimo notebook is a .py file.")
    if place.exists():
        # Two seconds of import that a new notebook does not need.
        from cellwright.notebook.files import read

        return read(place).path
    if not place.parent.is_dir():
        raise UserError(
            f"There is no folder {str(place.parent)!r}.",
            hint=remedy("name_notebook", lead="Make it first, or", what="another notebook"),
        )
    return place


def _project(notebook: Path, named: Path | None) -> Path:
    if named is None:
        return project_of(notebook)
    project = named.resolve()
    if not project.is_dir():
        raise UserError(
            f"There is no folder {str(named)!r}.", hint="The project is the folder that the notebook may see."
        )
    if not notebook.is_relative_to(project):
        raise UserError(
            f"{str(notebook)!r} is not inside the project {str(project)!r}.",
            hint=remedy("name_project", lead="Name a notebook inside it, or", what="another folder"),
        )
    return project


def _models(names: Sequence[str]) -> tuple[str, ...]:
    """The models, or the analyst alone. Raises `UserError`."""
    if ANALYST in names:
        if len(set(names)) > 1:
            raise UserError("The analyst works without models.", hint=f"Name {ANALYST!r} alone, or models.")
        return (ANALYST,)
    for name in names:
        if _MODEL.fullmatch(name) is None:
            lead = f"Name provider:model, or {ANALYST}, which needs none;"
            raise UserError(f"{name!r} is no model.", hint=remedy("see_models", lead=lead, shows="those there are"))
    return tuple(names)
