"""Roles and skills: ours are short and sound, a project's replace them, and a mistake is told with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import TypeAdapter

from cellwright.agents.artifacts import artifact_tools
from cellwright.agents.front_matter import read_front_matter
from cellwright.agents.project_additions import find_additions, roles_with, skills_of
from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.agents.repair.deterministic import APPLY, INSTALL, RUN
from cellwright.agents.role import Role, built_in_roles, read_role, role_named
from cellwright.agents.skills import Skill, read_skill, skill_tools
from cellwright.agents.styles import READINGS
from cellwright.app.notebook_connections import NotebookConnections
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.files import parse_data
from cellwright.data.messages import Asker
from cellwright.documents.document_store import DocumentStore
from cellwright.errors import UserError
from cellwright.journal.records import Records
from cellwright.kernel.documents import DocumentReader
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.runs.execute.spec_first import dispute_tool
from cellwright.runs.extract.extract_tool import EXTRACT
from cellwright.runs.plan.brief import plan_tool
from cellwright.runs.review.dispute import ask_person
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.cell_tools import cell_tools
from cellwright.tools.data_tools import data_tools
from cellwright.tools.environment_tools import package_tools, shell_tools
from cellwright.tools.evidence.library import Library
from cellwright.tools.evidence.reader_tools import reader_tools
from cellwright.tools.evidence.web_reading import web_reading_tools
from cellwright.tools.evidence.web_search import SearxngSearch
from cellwright.tools.file_tools import file_tools
from cellwright.tools.git.client import GitClient
from cellwright.tools.git.commit_import import Author
from cellwright.tools.git.git_tools import git_tools
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook_tools import TRY, notebook_tools
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.request_tools import request_tools
from cellwright.tools.sql_tools import sql_tools
from cellwright.tools.text_store import stored_text_tools
from cellwright.tools.tool import ToolError, Toolset
from cellwright.tools.web_tools import EgressFetch, web_tools
from tests.conftest import Opener

LONGEST_PROMPT = 2_500
"""Characters of our own prompts: they are sent with every request."""
HEAD = "---\nname: counter\ndescription: Counts.\n"


def test_our_roles_are_there_and_short() -> None:
    roles = built_in_roles()
    assert sorted(roles) == [
        "citation-judge",
        "coder",
        "documenter",
        "fixer",
        "investigator",
        "outliner",
        "planner",
        "reader",
        "research-editor",
        "research-planner",
        "reviewer",
        "section-writer",
        "tester",
        "writer",
    ]
    assert {name for name, role in roles.items() if len(role.prompt) > LONGEST_PROMPT} == set()
    assert all("finish" in role.tools and role.description for role in roles.values())


def test_a_role_is_read_whole() -> None:
    text = (
        f"{HEAD}tools:\n  - look\n  - finish\ntier: fast\nstyle: code\nsteps: 7\ncontext-tokens: 9_000\n"
        "temperature: 0.2\n---\n\nYou count.\n"
    )
    assert read_role(text, "counter.md") == Role(
        name="counter",
        description="Counts.",
        prompt="You count.",
        tools=("look", "finish"),
        tier="fast",
        style="code",
        steps=7,
        context_tokens=9_000,
        temperature=0.2,
    )


def test_a_role_is_kept_under_its_own_fields_as_it_always_was() -> None:
    role = read_role(f"{HEAD}tools: look\ncontext-tokens: 9000\n---\nYou count.", "counter.md")
    kept = TypeAdapter(Role).dump_python(role, mode="json")
    assert kept == snapshot(
        {
            "name": "counter",
            "description": "Counts.",
            "prompt": "You count.",
            "tools": ["look"],
            "tier": "smart",
            "style": "auto",
            "steps": 30,
            "tokens": 600000,
            "context_tokens": 9000,
            "sees": ["notebook", "data", "packages", "limits"],
            "temperature": None,
        }
    )
    assert TypeAdapter(Role).validate_python(kept) == role


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("You count.", "counter.md:1: the file does not begin with `---`."),
        ("---\nname: counter\n", "counter.md:1: the head has no end."),
        ("---\nname: counter\n---\nx", "counter.md:1: there is no `description`."),
        (f"{HEAD}colour: red\n---\nx", "counter.md:4: nobody reads `colour`"),
        (f"{HEAD}name: twice\n---\nx", "counter.md:4: `name` stands here twice."),
        (f"{HEAD}prompt: mine\n---\nx", "counter.md:4: nobody reads `prompt`."),
        (f"{HEAD}context_tokens: 5\n---\nx", "counter.md:4: nobody reads `context_tokens`."),
        (f"{HEAD}context-tokens: 0\n---\nx", "counter.md:4: `context-tokens`: Input should be greater than or equal"),
        (f"{HEAD}steps: many\n---\nx", "counter.md:4: `steps`: Input should be a valid integer"),
        (f"{HEAD}steps: 0\n---\nx", "counter.md:4: `steps`: Input should be greater than or equal to 1."),
        (f"{HEAD}tier: huge\n---\nx", "counter.md:4: `tier`: Input should be 'fast', 'smart', 'code' or 'embed'."),
        (f"{HEAD}style: poem\n---\nx", "counter.md:4: `style`: Input should be 'auto', "),
        (f"{HEAD}temperature: hot\n---\nx", "counter.md:4: `temperature`: Input should be a valid number"),
        (f"{HEAD}temperature: nan\n---\nx", "counter.md:4: `temperature`: Input should be less than or equal to 2."),
        (f"{HEAD}tools:\n  a: b\n---\nx", "counter.md:4: `tools`: Input should be a valid tuple."),
        (f"{HEAD}tools: [look\n---\nx", "counter.md:4: this is not YAML: expected ',' or ']'"),
        (f"{HEAD}tools:\n  - look\n  finish\n---\nx", "counter.md:6: this is not YAML: could not find expected ':'."),
        (f"{HEAD}tier: &anchor x\n---\nx", "counter.md:4: anchors (&) and aliases (*) are not read here."),
        (f"{HEAD}tier: *anchor\n---\nx", "counter.md:4: anchors (&) and aliases (*) are not read here."),
        (f"{HEAD}tier: !!python/name:os.system x\n---\nx", "counter.md:4: tags (!) are not read here."),
        (f"{HEAD}tier: a: b\n---\nx", "counter.md:4: this is not YAML: mapping values are not allowed here."),
        (f'{HEAD}tier: "a\\q"\n---\nx', "counter.md:4: this is not YAML: found unknown escape character 'q'."),
        (f"{HEAD}just words\n---\nx", "counter.md:4: this is not YAML: could not find expected ':'."),
        (f"{HEAD}tier: \0\n---\nx", "counter.md:2: this is not YAML: unacceptable character #x0000"),
        (f"{HEAD}? [a]\n: b\n---\nx", "counter.md:4: a key is one text."),
        (f"{HEAD}tools: [{'a, ' * 30_000}]\n---\nx", "counter.md:2: the head has more than 65,536 characters."),
        (f"{HEAD}tools: {'[' * 50_000}\n---\nx", "counter.md:4: below a key stand"),
        (f"{HEAD}metadata:\n  a:\n    b: c\n---\nx", "counter.md:6: below a key stand"),
        ("---\n- a\n---\nx", "counter.md:2: this is no `key: value`."),
        ("---\nname: Counter!\ndescription: x\n---\nx", "counter.md:2: 'Counter!' is no name for a role"),
        (f"{HEAD}---\n", "counter.md: the role 'counter' says nothing."),
    ],
)
def test_a_mistake_in_a_head_is_told_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        read_role(text, "counter.md")
    assert caught.value.message.startswith(complaint), caught.value.message
    assert caught.value.hint


def test_the_part_of_yaml_that_skills_use_is_read_as_yaml_reads_it() -> None:
    page = read_front_matter(
        "---\n# a comment\nplain: some words # and a comment\nquoted: 'it''s: so'\ndouble: \"a\\tb: c\"\nempty:\n"
        'inline: [a, "b"]\nnone: []\nfolded: >-\n  one\n  two\n\n'
        'kept: |\n  one\n    two\nmap:\n  a: b\n  c: "1.0"\n---\ntext\n',
        "x.md",
    )
    assert page.fields == snapshot(
        {
            "plain": "some words",
            "quoted": "it's: so",
            "double": "a\tb: c",
            "empty": "",
            "inline": ("a", "b"),
            "none": (),
            "folded": "one two",
            "kept": "one\n  two",
            "map": {"a": "b", "c": "1.0"},
        }
    )
    assert page.body == "text"


def test_a_projects_role_replaces_ours_and_others_are_added(tmp_path: Path) -> None:
    folder = tmp_path / ".cellwright/roles"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text(f"{HEAD}---\nYou count.\n")
    (folder / "coder.md").write_text("---\nname: coder\ndescription: Ours.\n---\nOur way.\n")
    roles = roles_with(find_additions(tmp_path).sound())
    assert (roles["counter"].prompt, roles["coder"].prompt) == ("You count.", "Our way.")
    assert "planner" in roles
    (folder / "other.md").write_text(f"{HEAD}---\nYou count, too.\n")
    with pytest.raises(UserError, match="Two roles are called 'counter'"):
        find_additions(tmp_path).sound()


def test_an_unknown_role_is_told_with_those_there_are() -> None:
    with pytest.raises(UserError) as caught:
        role_named(built_in_roles(), "wizard")
    assert caught.value.hint.startswith(f"Known: {', '.join(sorted(built_in_roles()))}. ")


# ── skills ──


def a_skill(project: Path, name: str = "rates", head: str = "") -> Path:
    folder = project / ".cellwright/skills" / name
    folder.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: How we convert currencies.\n{head}---\nUse table.csv, the closing rate.\n"
    (folder / "SKILL.md").write_text(text)
    (folder / "table.csv").write_text("EUR,1.1\n")
    return folder


def test_a_projects_skills_are_told_by_name_and_description(tmp_path: Path) -> None:
    a_skill(tmp_path, head='license: MIT\nmetadata:\n  version: "1.0"\nallowed-tools: look apply\n')
    [skill] = skills_of(find_additions(tmp_path).sound())
    assert skill.line == "- rates: How we convert currencies."
    assert skill.body == "Use table.csv, the closing rate."


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("---\nname: other\ndescription: x\n---\n", "SKILL.md:2: the skill 'other' lies in a folder called 'rates'."),
        ("---\nname: Rates\ndescription: x\n---\n", "SKILL.md:2: 'Rates' is no name for a skill"),
        ("---\nname: rates\n---\n", "SKILL.md:1: there is no `description`."),
        (
            f"---\nname: rates\ndescription: {'x' * 1025}\n---\n",
            "SKILL.md:3: `description`: String should have at most 1024 characters.",
        ),
    ],
)
def test_a_mistake_in_a_skill_is_told_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        read_skill(text, "rates", "SKILL.md")
    assert caught.value.message.startswith(complaint)


async def test_a_skill_is_read_when_it_is_needed_and_nothing_outside_its_folder(tmp_path: Path) -> None:
    from cellwright.tools.tool import CallContext, Done, ToolCall, ToolError, Toolset

    folder = a_skill(tmp_path)
    (tmp_path / "secret.txt").write_text("no")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "big.txt").write_text("x" * 300_000)
    (folder / "more").mkdir()
    (folder / "more/notes.txt").write_text("Weekends have Friday's rate.")
    tools = Toolset(skill_tools(skills_of(find_additions(tmp_path).sound())))
    (folder / "table.csv").write_text("EUR,1000\n")

    async def read(**arguments: str) -> object:
        tool = tools["read_skill"]
        call = ToolCall(id="1", name="read_skill", arguments=arguments)
        # It uses no verb of a flow.
        flow: Any = None
        result = await tool.run(tool.parse(arguments), CallContext(call=call, flow=flow))
        return result.text if isinstance(result, Done) else result

    assert await read(name="rates") == "Use table.csv, the closing rate."
    assert await read(name="rates", file="table.csv") == "EUR,1.1\n"
    for file in ("../../../secret.txt", "link.txt", "gone.txt", str(tmp_path / "secret.txt")):
        assert isinstance(await read(name="rates", file=file), ToolError)
    assert isinstance(await read(name="other"), ToolError)
    assert await read(name="rates", file="more/../more/notes.txt") == "Weekends have Friday's rate."
    refused = await read(name="rates", file="big.txt")
    assert isinstance(refused, ToolError) and refused.kind == "too-big"


def test_without_skills_there_is_no_tool_for_them() -> None:
    assert skill_tools([]) == []


async def test_every_tool_a_built_in_role_names_is_there(opened: Opener, pool: KernelPool, tmp_path: Path) -> None:
    async with opened("x = 1") as notebook, Records.open(tmp_path / "journal.db") as records:
        editor = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        project, kept = notebook.path.parent, JournalTexts(records)
        git = GitClient(project, pool.zygote, author=Author(name="Ada", email="ada@example.org"), tier=probe().tier)
        skill = Skill(name="s", description="d", body="b")
        reader = DocumentReader(pool=pool, tier="A", store=DocumentStore(home=tmp_path, mask=str))
        library, fetch = Library(reader, (), home=tmp_path), EgressFetch()
        search = SearxngSearch(address="https://searx.example", fetch=fetch)
        client = BrokerClient(launch=BrokerLaunch(home=tmp_path))
        connections = NotebookConnections(client=client, asker=Asker(), named=("shop",), changeable=("crm",))
        tools = [
            *notebook_tools(editor),
            plan_tool(),
            dispute_tool({}, {}, editor, ask_person),
            *cell_tools(notebook),
            *package_tools(editor),
            *file_tools(ProjectFiles(project)),
            *shell_tools(notebook, str(project)),
            *web_tools(fetch),
            *reader_tools(library, "")[:-1],
            *web_reading_tools(library, fetch, search),
            *git_tools(git),
            *artifact_tools(kept),
            *stored_text_tools(kept),
            *skill_tools([skill]),
            *data_tools(
                editor,
                TableProfiler(profiler=Profiler(pool=pool, tier="A"), source=connections),
                lambda path: parse_data([path], here=project, notebook=notebook.path, project=project)[0],
            ),
            *sql_tools(connections),
            *request_tools(connections),
        ]
        known = {READINGS, EXTRACT, *(each.name for each in tools)}
        named = {name for role in built_in_roles().values() for name in role.tools}
        assert named - known == set()
        # What is certain is done with these.
        assert {INSTALL, RUN, APPLY, TRY} <= known
        assert not isinstance(Toolset(tools)[INSTALL].parse({"requirement": "x"}), ToolError)
