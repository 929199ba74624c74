"""Acceptance tests: what must hold, as code, written from goal and data alone before anybody builds."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Note
from cellwright.notebook.syntax_trees import syntax_tree
from cellwright.runs.plan.plan import Check
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool

TESTER: Final = "tester"
DISPUTE: Final = "dispute_check"
"""The tool with which a builder says that a test is wrong."""
MOST_TESTS: Final = 8
_MOST_VARIABLES: Final = 12
_LONG: Final = 600
_CODE: Final = 6_000
_FINISH: Final = "finish"
_TEST: Final = re.compile(r"test_[^\WA-Z]{1,100}")
_RULES: Final = (
    "Acceptance tests are in the notebook already, written from goal and data before anybody built. Define the "
    "variables they read under exactly these names. Their cells are not yours: make them pass; write others only for "
    f"what they leave out. If one contradicts the goal or the data, call `{DISPUTE}(test, why, instead)`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecVariable:
    """A variable that builders must define."""

    name: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceTest:
    """One test that was written first."""

    test: str
    says: str
    """What holds if it passes."""
    code: str
    reads: tuple[str, ...] = ()
    """Of the variables that builders must define."""

    @property
    def check(self) -> Check:
        """As a plan's check."""
        return Check(test=self.test, says=self.says)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceSpec:
    """What a tester handed in."""

    reading: str = ""
    """How it understands the goal."""
    variables: tuple[SpecVariable, ...] = ()
    tests: tuple[AcceptanceTest, ...] = ()


_SPEC: Final = TypeAdapter(AcceptanceSpec)


def parse_spec(value: Any) -> AcceptanceSpec:
    """What a tester handed in; one that handed in something else wrote no tests."""
    try:
        return _SPEC.validate_python(value)
    except ValidationError:
        return AcceptanceSpec()


# ── the tester ──


class _Variable(BaseModel):
    # Without docstrings here: they would be told in every request.
    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(max_length=80)]
    holds: Annotated[str, Field(max_length=_LONG, description="Type, unit, columns, rounding.")]


class _Test(BaseModel):
    model_config = ConfigDict(extra="forbid")
    test: Annotated[str, Field(max_length=110, description="test_…, the function's name.")]
    says: Annotated[str, Field(min_length=1, max_length=_LONG, description="What holds, in a sentence.")]
    code: Annotated[str, Field(max_length=_CODE, description="def test_…(): and nothing else.")]


def writing(context: AgentContext, taken: Callable[[], Collection[str]]) -> AgentContext:
    """The context in which a tester works, with its own way to finish; `taken`: tests the notebook has already."""
    tools = [*(each for each in context.tools if each.name != _FINISH), spec_tool(taken)]
    return replace(context, tools=tools, skills=())


def spec_tool(taken: Callable[[], Collection[str]]) -> Tool:
    """The tester's own way to finish: with tests that could fail, over names that it fixes."""

    @tool(name=_FINISH)
    async def finish(
        reading: Annotated[str, Field(max_length=_LONG, description="How you understand the goal.")],
        variables: Annotated[list[_Variable], Field(min_length=1, max_length=_MOST_VARIABLES)],
        tests: Annotated[list[_Test], Field(min_length=1, max_length=MOST_TESTS)],
    ) -> ToolResult:
        """Hand in the tests, and the variables they read; nothing comes after this."""
        named = tuple(SpecVariable(**each.model_dump()) for each in variables)
        written = tuple(
            AcceptanceTest(**each.model_dump(), reads=_reads(each.code, [variable.name for variable in named]))
            for each in tests
        )
        problems = spec_problems(named, written, taken())
        if problems:
            return ToolError(kind="bad-arguments", message=" ".join(problems))
        spec = AcceptanceSpec(reading=reading, variables=named, tests=written)
        value = {"summary": reading, "answer": "", "tests": _SPEC.dump_python(spec, mode="json")}
        return Done(text="Handed in.", value=value, ends=True)

    return finish


def spec_problems(
    variables: Sequence[SpecVariable], tests: Sequence[AcceptanceTest], taken: Collection[str]
) -> list[str]:
    """What is wrong with what a tester would hand in, each in a sentence."""
    names, known = [each.name for each in variables], [each.test for each in tests]
    found = [
        f"{name!r} is no name of a variable that other cells can read."
        for name in names
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_")
    ]
    found += [
        f"{name!r} is there twice." for name in dict.fromkeys([*names, *known]) if (names + known).count(name) > 1
    ]
    found += [f"The notebook has a test {name!r} already." for name in known if name in taken]
    for each in tests:
        if problem := why_no_test(each.test, each.code):
            found.append(problem)
        elif not each.reads:
            found.append(f"{each.test} reads none of the variables.")
    return found


def why_no_test(test: str, code: str) -> str:
    """Why this code is no acceptance test of this name; empty: it is one."""
    tree = syntax_tree(code)
    if tree is None:
        return f"{test}: the code is no Python."
    match tree.body:
        case [ast.FunctionDef(name=name, args=arguments, decorator_list=[]) as function] if name == test:
            if ast.unparse(arguments):
                return f"{test} takes parameters."
            if not any(isinstance(node, ast.Assert) for node in ast.walk(function)):
                return f"{test} asserts nothing."
            return "" if _TEST.fullmatch(test) else f"{test!r} is no name for a test: `test_` and small letters."
        case _:
            return f"{test}: the code must be `def {test}():` and nothing beside it."


def _reads(code: str, names: Collection[str]) -> tuple[str, ...]:
    tree = syntax_tree(code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set[str]()
    return tuple(name for name in names if name in used)


# ── the builders ──


def notes_for_builders(spec: AcceptanceSpec, tests: Sequence[AcceptanceTest]) -> tuple[Note, ...]:
    """What whoever builds is told: our rules, and as data what the tester wrote."""
    if not tests:
        return ()
    read = {name for each in tests for name in each.reads}
    lines = ["Variables:", *(f"- `{each.name}`: {each.holds}" for each in spec.variables if each.name in read)]
    lines += ["Tests:", *(f"- `{each.test}` (reads {', '.join(each.reads)}): {each.says}" for each in tests)]
    return (
        Note(name="acceptance tests", text=_RULES, is_data=False),
        Note(name="variables and acceptance tests", text="\n".join(lines)),
    )


# ── what is disputed ──


def replaced(test: AcceptanceTest, code: str, why: str) -> AcceptanceTest:
    """The test with other code; what it says is that code's docstring, or what it said and why it is another."""
    tree = syntax_tree(code)
    function = tree.body[0] if tree is not None and tree.body else None
    said = ast.get_docstring(function) if isinstance(function, ast.FunctionDef) else None
    return replace(test, code=code, says=said or f"{test.says} (written anew: {why})")
