"""marimo's own judgement of a notebook: its linter, and its convention of tests in cells.

The linter runs here and runs nothing of the notebook. Tests are only found here; `tests_code` is a cell that runs them
where the notebook lives, in a kernel.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeGuard

from marimo._ast.compiler import contains_only_tests
from marimo._ast.parse import parse_notebook
from marimo._ast.pytest import has_fixture_decorator
from marimo._lint.diagnostic import Diagnostic
from marimo._lint.rule_engine import RuleEngine

from cellwright.notebook.document import Document
from cellwright.notebook.render import render
from cellwright.notebook.syntax_trees import syntax_tree, without_warnings

Severity = Literal["breaking", "runtime", "formatting", "wasm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing marimo's linter says about a notebook."""

    code: str
    """Stable: `MB002` is a name defined twice, `MB003` a cycle …"""
    severity: Severity
    message: str
    line: int
    """1-based, in the notebook's text."""


async def check(document: Document) -> list[LintFinding]:
    """What `marimo check` would say of this document, most severe first."""
    text = render(document)
    with without_warnings():
        notebook = parse_notebook(text)
    assert notebook is not None, "a rendered notebook is not empty"
    diagnostics = await RuleEngine.create_default().check_notebook(notebook, text)
    return [_to_finding(diagnostic) for diagnostic in diagnostics]


def _to_finding(diagnostic: Diagnostic) -> LintFinding:
    line = diagnostic.line if isinstance(diagnostic.line, int) else min(diagnostic.line, default=0)
    severity = diagnostic.severity.value if diagnostic.severity else "formatting"
    return LintFinding(code=diagnostic.code or "", severity=severity, message=diagnostic.message, line=line)


# ── tests ──


def tests_in(code: str) -> tuple[str, ...]:
    """The tests a cell defines: functions `test…` and classes `Test…` of a cell that holds only such, as in marimo.

    Beside other code, a function `test_…` counts only if it takes nothing: one with parameters is ordinary code there.
    """
    tree = syntax_tree(code)
    if tree is None:
        return ()
    has_only_tests = contains_only_tests(tree)
    return tuple(dict.fromkeys(node.name for node in tree.body if _is_test(node, has_only_tests=has_only_tests)))


def _is_test(
    node: ast.stmt, *, has_only_tests: bool
) -> TypeGuard[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    match node:
        case ast.ClassDef(name=name):
            return has_only_tests and name.startswith("Test")
        case ast.FunctionDef(name=name, args=arguments) | ast.AsyncFunctionDef(name=name, args=arguments):
            takes = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            if has_fixture_decorator(node):
                return False
            return name.startswith("test") if has_only_tests else name.startswith("test_") and not takes
        case _:
            return False


def tests_code(name: str, tests: Sequence[str], defined: Iterable[str] = ()) -> str:
    """A cell that runs these tests and calls the list of results `name`: test, outcome, message.

    `defined` is everything their cell defines: a fixture counts for the tests beside it, as in marimo.
    With pytest in the notebook's environment they run as marimo's reactive tests do: fixtures, parameters, classes.
    Without it plain functions are called; what needs pytest fails and says so.
    """
    named = ", ".join(f"{json.dumps(test)}: {test}" for test in tests)
    return f"{_HARNESS.replace('NAME', name)}\n\n{name} = {name}_run({{{named}}}, {sorted(defined)}, globals())\n"


_HARNESS: Final = textwrap.dedent("""
    def NAME_run(tests, beside, names):
        import contextlib, inspect, io, os

        results = []

        def tell(name, outcome, message=""):
            results.append({"name": name, "outcome": outcome, "message": str(message)[:2000]})

        def call(name, test):
            needs = "a class" if inspect.isclass(test) else "asynchronous" if inspect.iscoroutinefunction(test) else ""
            takes = [one.name for one in inspect.signature(test).parameters.values() if one.default is one.empty]
            if needs or takes:
                why = f"it is {needs}" if needs else f"it takes {', '.join(takes)}"
                tell(name, "needs pytest", why)
                return
            try:
                test()
            except Exception as error:
                tell(name, "failed", f"{type(error).__name__}: {error}".rstrip(": "))
            else:
                tell(name, "passed")

        class Listener:
            def pytest_collection_modifyitems(self, items):
                items[:] = [one for one in items if one.nodeid.split("::")[1].partition("[")[0] in tests]

            def pytest_runtest_logreport(self, report):
                name = report.nodeid.partition("::")[2]
                crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
                message = getattr(crash, "message", "") or getattr(report, "longreprtext", "")[-2000:]
                if report.skipped and not hasattr(report, "wasxfail"):
                    tell(name, "skipped", report.longrepr[2] if isinstance(report.longrepr, tuple) else message)
                elif report.failed:
                    tell(name, "failed", message)
                elif report.when == "call":
                    tell(name, "passed")

            def pytest_collectreport(self, report):
                if report.failed:
                    tell(", ".join(tests), "failed", getattr(report, "longreprtext", "")[-2000:])

        try:
            import pytest
            from marimo._runtime.pytest import ReplaceStubPlugin, _global_scope_defs
        except ImportError:
            for name, test in tests.items():
                call(name, test)
            return results

        live = ReplaceStubPlugin({*tests, *beside}, names, global_defs=_global_scope_defs())
        path = names["__file__"]
        alone = ["-c", os.devnull, "--rootdir", os.path.dirname(path), "--noconftest", "-p", "no:cacheprovider"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            code = pytest.main(["-qq", "--disable-warnings", "--capture=sys", *alone, path], plugins=[live, Listener()])
        if not results:
            tell(", ".join(tests), "failed", f"pytest found nothing to run (exit code {int(code)}) {said.getvalue()}")
        return results
""").strip()
"""Everything stands in one function: a cell defines only its result and this, and leaves no other name behind."""
