"""Errors of real marimo cells, as a model reads them."""

import sys
from typing import Any, get_args

import marimo._messaging.errors as marimo_errors
import pytest
from inline_snapshot import snapshot
from marimo._ast.compiler import compile_cell
from marimo._runtime.exceptions import MarimoRuntimeException
from marimo._runtime.executor import resolve_executor
from marimo._types.ids import CellId_t

from cellwright_guest import faults, report_wire


def run(code: str, cell: str = "Hbol", variables: dict[str, Any] | None = None) -> dict[str, Any]:
    variables = {"__name__": "__main__"} if variables is None else variables
    resolve_executor().execute_cell(compile_cell(code, CellId_t(cell)), variables)
    return variables


def failure(
    code: str, cell: str = "Hbol", variables: dict[str, Any] | None = None, **limit: float
) -> report_wire.CellError:
    with pytest.raises(MarimoRuntimeException) as caught:
        run(code, cell, variables)
    return faults.raised(caught.value, cell=cell, **limit)


def test_an_error_names_its_line_in_the_cell() -> None:
    assert failure("x = 1\n\ny = x / 0") == snapshot(
        report_wire.CellError(
            type="ZeroDivisionError", message="division by zero", line=3, traceback="cell Hbol, line 3: y = x / 0"
        )
    )


def test_an_error_in_the_last_expression_names_its_line() -> None:
    error = failure("# comment\nx = [1]\nx[5]")
    assert (error.type, error.line) == ("IndexError", 3)


def test_a_function_of_another_cell_shows_both_cells_and_blames_the_line_here() -> None:
    variables = run("def divide(a, b):\n    return a / b", cell="MJUe")
    error = failure("z = 1\ndivide(z, 0)", variables=variables)
    assert error.line == 2
    assert error.traceback == snapshot(
        """\
cell Hbol, line 2: divide(z, 0)
cell MJUe, line 2 in divide: return a / b\
"""
    )


def test_the_last_library_frame_is_shown_without_the_path_before_it() -> None:
    error = failure("import json\njson.loads('{')")
    assert error.type == "json.JSONDecodeError"
    assert error.traceback.splitlines()[0] == "cell Hbol, line 2: json.loads('{')"
    assert error.traceback.splitlines()[1].startswith("json/decoder.py, line ")
    assert sys.prefix not in error.traceback
    pandas = failure("import pandas\npandas.DataFrame({'a': [1]})['b']")
    assert pandas.traceback.splitlines()[-1].startswith("pandas/")


def test_notes_and_causes_are_told() -> None:
    code = """
try:
    {}['k']
except KeyError as missing:
    error = ValueError("bad")
    error.add_note("look at k")
    raise error from missing
"""
    assert failure(code).message == "bad\nlook at k\ncaused by KeyError: 'k'"
    assert failure("try:\n    1/0\nexcept ZeroDivisionError:\n    {}['k']").message == snapshot(
        "'k'\nwhile handling ZeroDivisionError: division by zero"
    )
    assert failure("try:\n    1/0\nexcept ZeroDivisionError:\n    raise KeyError(1) from None").message == "1"


def test_a_recursion_error_is_short() -> None:
    error = failure("def f(n):\n    return f(n + 1)\nf(0)")
    assert error.type == "RecursionError"
    assert len(error.traceback.splitlines()) <= 4
    assert "more times" in error.traceback
    mutual = failure("def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(0)")
    assert len(mutual.traceback.splitlines()) <= 20
    assert "more lines" in mutual.traceback


def test_groups_list_their_members() -> None:
    inner = "inner = ExceptionGroup('in', [KeyError(1)])"
    error = failure(f"{inner}\nraise ExceptionGroup('many', [inner, *map(ValueError, range(8))])")
    assert error.message == snapshot(
        """\
many (9 sub-exceptions)
- ExceptionGroup: in (1 sub-exception)
  - KeyError: 1
- ValueError: 0
- ValueError: 1
- ValueError: 2
- ValueError: 3
- … 4 more\
"""
    )


def test_a_near_name_is_suggested() -> None:
    assert failure("total = 1\nprint(totl)").message == "name 'totl' is not defined Did you mean 'total'?"
    assert "Did you mean 'sqrt'?" in failure("import math\nmath.sqrtt(2)").message


def test_a_syntax_error_made_at_run_time_says_where() -> None:
    error = failure("compile('x =', 'made', 'exec')")
    assert (error.type, error.line) == ("SyntaxError", 1)
    assert error.message == "invalid syntax (line 1)\n    x ="


HOSTILE = """
class Bad(Exception):
    def __str__(self):
        {body}
raise Bad()
"""


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('no')",
        "return 3",
        "return 'x' * 50_000_000",
        "raise SystemExit(1)",
        "print('noise'); return ''",
        "return str(self)",
        "return '\\ud800'",
    ],
)
def test_an_exception_that_will_not_speak_is_still_told(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = failure(HOSTILE.format(body=body))
    assert (error.type, error.line) == ("Bad", 5)
    assert len(error.message.encode()) <= 2_000
    assert capsys.readouterr() == ("", "")


def test_an_exception_whose_message_never_ends_is_still_told() -> None:
    error = failure(HOSTILE.format(body="while True: pass"), seconds=0.5)
    assert error == report_wire.CellError(type="Bad", message="Its message could not be read.", line=5)


def test_a_source_file_named_by_user_code_is_not_opened() -> None:
    error = failure("exec(compile('1/0', '/dev/zero', 'exec'))")
    assert error.traceback.splitlines()[1] == "dev/zero, line 1 in <module>"


A, B = CellId_t("Hbol"), CellId_t("MJUe")

STRUCTURAL: list[marimo_errors.Error] = [
    marimo_errors.MarimoSyntaxError(msg="line 2\n  x =\nSyntaxError: invalid syntax", lineno=2),
    marimo_errors.CycleError(edges_with_vars=((A, ("x",), B), (B, ("y",), A))),
    marimo_errors.MultipleDefinitionError(name="x", cells=(B,)),
    marimo_errors.ImportStarError(msg="`import *` is not allowed", lineno=1),
    marimo_errors.SetupRootError(edges_with_vars=((A, ("x",), B),)),
    marimo_errors.MarimoInterruptionError(),
    marimo_errors.MarimoAncestorPreventedError(msg="", raising_cell=A, blamed_cell=None),
    marimo_errors.MarimoAncestorStoppedError(msg="", raising_cell=A),
    marimo_errors.MarimoExceptionRaisedError(msg="No `x`. In ", exception_type="NameError", raising_cell=A),
    marimo_errors.MarimoStrictExecutionError(msg="not here", ref="x", blamed_cell=A),
    marimo_errors.MarimoSQLError(msg="no such column", sql_statement="select\n  nope", hint="Or x?", sql_line=1),
    marimo_errors.UnknownError(msg="Traceback (most recent call last):\n  File \"/venv/a.py\"\nKeyError: 'x'"),
]


def test_marimos_own_errors_are_told_in_our_words() -> None:
    told = [faults.structural([error]) for error in STRUCTURAL]
    assert [(error.type, error.message, error.line) for error in told] == snapshot(
        [
            ("syntax", "line 2\n  x =\nSyntaxError: invalid syntax", 2),
            (
                "cycle",
                "These cells need each other: cell 'Hbol' gives x to cell 'MJUe'; cell 'MJUe' gives y to cell 'Hbol'.",
                None,
            ),
            ("multiple-definition", "'x' is also defined in cell 'MJUe'. A name has one cell.", None),
            ("import-star", "`import *` is not allowed", 1),
            ("setup-refs", "The setup cell cannot use names of other cells: cell 'Hbol' gives x to cell 'MJUe'.", None),
            ("interruption", "Interrupted.", None),
            ("ancestor-prevented", "cell 'Hbol', which it needs, did not run.", None),
            ("ancestor-stopped", "cell 'Hbol', which it needs, called mo.stop().", None),
            ("NameError", "No `x`. In cell 'Hbol'.", None),
            ("strict-execution", "not here (cell 'Hbol')", None),
            ("sql", "no such column\nin line 2 of the SQL: nope\nOr x?", None),
            ("unknown", "KeyError: 'x'", None),
        ]
    )


def test_several_structural_errors_are_one_message() -> None:
    told = faults.structural(STRUCTURAL[1:4])
    assert told.type == "cycle"
    assert "Also: 'x' is also defined in" in told.message


def test_every_error_of_marimo_has_its_words() -> None:
    internal = marimo_errors.MarimoInternalError(error_id="7")
    known = {type(error) for error in [*STRUCTURAL, internal]}
    assert known == set(get_args(marimo_errors.Error))
    assert faults.raised(internal, cell="Hbol").type == "internal"
