"""A notebook is verified when it runs from scratch twice, shows the same and keeps its promises; else it says why."""

from __future__ import annotations

import platform
import shutil
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from dirty_equals import IsPartialDict, IsStr
from inline_snapshot import snapshot

from cellwright.kernel.observation import CellOutcome
from cellwright.network import NetworkSettings
from cellwright.notebook.files import read
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import Remedy, sentence_of
from cellwright.runs.verify.input_files import InputFile
from cellwright.runs.verify.judge import Judge
from cellwright.runs.verify.notebook_run import NotebookRun
from cellwright.runs.verify.proof import ProvenCheck, canonical, is_signed, sha256
from cellwright.runs.verify.verification import NotVerified, Verified
from tests.kernel.test_environment_kernels import tiny_wheel
from tests.runs.verify.verifying import Verifier, said

Write = Callable[..., Path]


@pytest.mark.slow
async def test_a_deterministic_notebook_is_verified_and_its_proof_holds(verified: Verifier, written: Write) -> None:
    path = written("x = 20", "print('hello')\ny = x + 1\ny * 2", "import marimo as mo\nmo.ui.slider(1, y)")
    result = await verified(path, now=lambda: datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))
    assert isinstance(result, Verified), said(result)
    signed, proof = result.signed, result.proof
    assert is_signed(canonical(proof), key=signed.key, signature=signed.signature)
    assert (proof.notebook, proof.notebook_sha256) == ("notebook.py", sha256(path.read_bytes()))
    assert [cell.code_sha256 for cell in proof.cells] == [sha256(cell.code) for cell in read(path).document.cells]
    assert [cell.status for cell in proof.cells] == ["ok", "ok", "ok"]
    assert all(cell.output_sha256 and cell.is_whole for cell in proof.cells)
    assert proof.made_at == "2026-05-04T03:02:01+00:00"
    ours = {"cellwright": version("cellwright"), "marimo": "0.25.2", "python": platform.python_version()}
    assert dict(proof.tools) == ours | {"platform": sysconfig.get_platform()}
    assert proof.tier in "ABC"
    assert proof.determinism == snapshot(
        "3 of 3 cells showed the same in 2 runs; normalised: object addresses, marimo's element tokens, "
        "marimo's file names of cells, pandas Styler ids"
    )
    assert [cell.is_same for cell in result.report.cells] == [True, True, True]


@pytest.mark.slow
async def test_without_a_header_the_proof_says_that_cellwrights_own_packages_were_used(
    verified: Verifier, written: Write
) -> None:
    proof = await verified.proof(written("import pandas\npandas.Series([1, 2]).sum()"))
    assert proof.environment.requirements is None
    assert dict(proof.environment.packages) == IsPartialDict({"marimo": "0.25.2", "pandas": IsStr()})


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import random\nrandom.random()", "output"),
        ("import time\nprint(time.time_ns())", "console"),
        ("import uuid\n{'id': str(uuid.uuid4())}", "output"),
        # Kernels of one zygote share its hash seed: the second run must not.
        ("print({str(number) for number in range(30)})", "console"),
    ],
    ids=["random", "clock", "uuid", "order of a set"],
)
async def test_outputs_that_differ_fail_and_the_cell_is_named(
    verified: Verifier, written: Write, code: str, what: str
) -> None:
    result = await verified.refused(written("x = 1", code))
    (reason,) = result.reasons
    assert reason.kind == "OutputDiffers"
    first, *lines = reason.text.splitlines()
    assert first.startswith("cell 2 (") and f"its {what} differs" in first
    assert {line[0] for line in lines} == {"-", "+"}
    assert [cell.is_same for cell in result.report.cells] == [True, False]
    assert "seed" in sentence_of(reason.hint)


@pytest.mark.slow
async def test_a_picture_that_differs_is_told_as_a_picture(verified: Verifier, written: Write) -> None:
    path = written("import numpy, matplotlib.pyplot as plt\nplt.plot(numpy.random.rand(9))\nplt.gca()")
    (reason,) = (await verified.refused(path)).reasons
    assert reason.kind == "OutputDiffers"
    assert "a picture, or another file in it, is not the same" in reason.text


@pytest.mark.slow
async def test_what_changes_by_design_is_no_difference(verified: Verifier, written: Write) -> None:
    path = written(
        "class Thing: ...\nprint(Thing(), Thing)\nThing()",
        "import warnings\nwarnings.warn('the cell is named by its file')",
        "import marimo as mo\nmo.ui.array([mo.ui.text(), mo.ui.table([{'a': 1}])])",
        "import pandas\ntable = pandas.DataFrame({'a': [1, 2]})\ntable",
        "import altair\naltair.Chart(table).mark_bar().encode(x='a')",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.gca()",
    )
    proof = await verified.proof(path)
    assert len(proof.cells) == 6
    assert "2 runs" in proof.determinism


# ── cells and checks ──


async def test_a_cell_that_fails_is_told_and_what_depends_on_it_is_not(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("x = 1\ny = x / 0", "z = y"))
    (reason,) = result.reasons
    assert reason.kind == "CellFailed"
    assert said(result) == snapshot(["cell 1 (x = 1): ZeroDivisionError in line 2: division by zero"])
    assert [cell.status for cell in result.report.cells] == ["failed", "cancelled"]


@pytest.mark.slow
async def test_checks_in_the_notebook_pass_by_name(verified: Verifier, written: Write) -> None:
    path = written(
        "import pytest\ntotal = 3",
        "@pytest.fixture\ndef seven():\n    return 7\n\ndef test_seven(seven):\n    assert seven == 7",
        "@pytest.mark.parametrize('number', [1, 2])\ndef test_number(number):\n    assert number < total",
        "class TestTotal:\n    def test_it(self):\n        assert total == 3",
        "@pytest.mark.skip(reason='not today')\ndef test_later():\n    assert False",
        "assert total == 3",
        "limit = 9\ndef test_beside_other_code():\n    assert limit == 9\ndef test_statistic(values): ...",
    )
    proof = await verified.proof(path)
    assert proof.checks == snapshot(
        (
            ProvenCheck(name="cell 6", kind="cell", outcome="passed"),
            ProvenCheck(name="test_seven", kind="test", outcome="passed"),
            ProvenCheck(name="test_number[1]", kind="test", outcome="passed"),
            ProvenCheck(name="test_number[2]", kind="test", outcome="passed"),
            ProvenCheck(name="TestTotal::test_it", kind="test", outcome="passed"),
            ProvenCheck(name="test_later", kind="test", outcome="skipped"),
            ProvenCheck(name="test_beside_other_code", kind="test", outcome="passed"),
        )
    )


@pytest.mark.slow
async def test_a_test_that_notices_nothing_is_told_with_the_variable_and_stands_in_the_proof(
    verified: Verifier, written: Write
) -> None:
    path = written(
        "total = 40 + 2",
        "def test_total():\n    assert total > 0",
        "def test_sum():\n    assert total == sum([40, 2])",
        "def test_helps():\n    assert abs(-1) == 1",
    )
    result = await verified(path)
    assert isinstance(result, Verified), said(result)
    assert [(test.name, test.reads) for test in result.report.hollow] == [("test_total", ("total",))]
    assert "test_total notices no change of `total`" in result.proof.warnings


@pytest.mark.slow
async def test_a_failing_check_is_told_by_name_with_its_message(verified: Verifier, written: Write) -> None:
    path = written("total = 3", "def test_total():\n    assert total == 4", "def test_good():\n    assert total")
    result = await verified.refused(path)
    (reason,) = result.reasons
    assert reason.kind == "CheckFailed"
    assert said(result) == snapshot(["check test_total (cell 2 (def test_total():)): assert 3 == 4"])
    assert [(check.name, check.outcome) for check in result.report.checks] == [
        ("test_total", "failed"),
        ("test_good", "passed"),
    ]


async def test_an_assert_that_does_not_hold_fails_its_cell(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("total = 3", "assert total == 4, 'the total is wrong'"))
    assert said(result) == snapshot(
        ["cell 2 (assert total == 4, 'the total is wrong'): AssertionError in line 1: the total is wrong"]
    )
    assert [(check.name, check.outcome) for check in result.report.checks] == [("cell 2", "failed")]


async def test_tests_of_a_cell_that_did_not_run_have_not_passed(verified: Verifier, written: Write) -> None:
    path = written("import marimo as mo\nmo.stop(True)\ntotal = 3", "def test_total(n=total):\n    assert total")
    result = await verified.refused(path)
    assert [(check.name, check.outcome) for check in result.report.checks] == [("test_total", "failed")]
    assert "did not run" in said(result)[0]


@pytest.mark.slow
async def test_a_cell_that_never_ends_is_stopped_and_named(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("x = 1", "while x:\n    pass"), seconds=5)
    (reason,) = result.reasons
    assert reason.kind == "DidNotEnd"
    assert said(result) == ["cell 2 (while x:): did not end in 5 s"]


async def test_a_kernel_that_ends_is_told(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("import os", "os._exit(3)"))
    (reason,) = result.reasons
    assert reason.kind == "KernelStopped"
    assert said(result) == snapshot(["cell 2 (os._exit(3)): The kernel ended: it exited with code 3."])


async def test_what_it_writes_is_forgotten_between_the_runs_and_afterwards(verified: Verifier, written: Write) -> None:
    path = written("from pathlib import Path\nplace = Path('seen')", "print(place.exists())\nplace.touch()")
    await verified.proof(path)
    assert sorted(one.name for one in path.parent.iterdir()) == ["notebook.py"]


async def test_both_runs_are_at_work_at_the_same_time(verified: Verifier, written: Write, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    path = written("import os\nwhile not os.path.exists('data/gate/open'):\n    pass")
    begun = set[str]()

    def open_when_both_wait(text: str) -> None:
        if text.endswith("run: 1 cells"):
            begun.add(text)
        if len(begun) == 2:
            (gate / "open").touch()

    # One after the other, the first would wait for the second for ever.
    await verified.proof(path, data=(str(gate),), on_progress=open_when_both_wait, seconds=60)
    assert begun == {"first run: 1 cells", "second run: 1 cells"}


# ── linter ──


@pytest.mark.parametrize(
    ("cells", "code"), [(("x = 1", "x = 2"), "MB002"), (("a = b", "b = a"), "MB003")], ids=["defined twice", "cycle"]
)
async def test_what_breaks_a_notebook_is_told_and_nothing_runs(
    verified: Verifier, written: Write, cells: tuple[str, ...], code: str
) -> None:
    told: list[str] = []
    result = await verified.refused(written(*cells), on_progress=told.append)
    assert [reason.kind for reason in result.reasons] == ["LintError"]
    assert [finding.code for finding in result.report.findings] == [code]
    assert told == []


async def test_formatting_warnings_are_in_the_proof_and_fail_only_when_asked(
    verified: Verifier, written: Write
) -> None:
    path = written("x = 1", "pass")
    proof = await verified.proof(path)
    assert proof.warnings == snapshot(
        ("line 12: Empty cell can be removed (contains only whitespace, comments, or pass) (MF004)",)
    )
    strict = await verified.refused(path, is_strict=True)
    assert [reason.kind for reason in strict.reasons] == ["LintError"]


# ── leaks ──

SECRET = "sk-ant-api03-" + "Zk3" * 30 + "AA"


async def test_a_secret_that_is_shown_is_found_and_not_repeated(verified: Verifier, written: Write) -> None:
    path = written("key = 'sk-ant-api03-' + 'Zk3' * 30 + 'AA'\nprint(key)\nkey")
    result = await verified.refused(path)
    assert [reason.kind for reason in result.reasons] == ["SecretFound", "SecretFound"]
    assert [one.partition("): ")[2].partition(" (")[0] for one in said(result)] == [
        "a secret in its console",
        "a secret in its output",
    ]
    assert SECRET not in repr(result)


async def test_a_secret_in_the_code_is_found_and_not_repeated(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written(f"key = '{SECRET}'"))
    (reason,) = result.reasons
    assert reason.kind == "SecretFound"
    assert "a secret in its code" in reason.text
    assert SECRET not in repr(result) + str(said(result))


async def test_a_path_of_this_machine_in_code_or_output_is_found(verified: Verifier, written: Write) -> None:
    path = written(f"place = '{verified.home}/sales.csv'", "print('/'.join(['', *place.split('/')[1:]]))")
    result = await verified.refused(path)
    found = [reason.text.partition("): ")[2] for reason in result.reasons if reason.kind == "MachinePathFound"]
    assert found == [
        f"a path of this machine in its {where}: {verified.home}/sales.csv" for where in ("code", "console")
    ]
    hint = result.reasons[0].hint
    assert isinstance(hint, Remedy) and (hint.kind, hint.arguments) == ("add_data", {"what": "others"})


async def test_the_place_of_an_installed_package_is_a_path_of_this_machine(verified: Verifier, written: Write) -> None:
    (reason,) = (await verified.refused(written("import numpy\nprint(numpy.__file__)"))).reasons
    assert reason.kind == "MachinePathFound"
    assert reason.text.endswith("numpy/__init__.py")


# ── data ──


@pytest.mark.slow
async def test_data_is_hashed_given_named_or_opened(verified: Verifier, written: Write, tmp_path: Path) -> None:
    path = written(
        "import pathlib\nname = 'sal' + 'es.csv'\ntext = pathlib.Path(name).read_text()",
        "import polars\npolars.read_csv('named.csv')",
        "given = open('data/given.csv').read()",
        "import own_module\nown_module.answer",
    )
    for place in (path.parent / "sales.csv", path.parent / "named.csv", tmp_path / "given.csv"):
        place.write_text("n\n1\n")
    (path.parent / "own_module.py").write_text("answer = 42\n")
    (path.parent / "untouched.csv").write_text("n\n")
    proof = await verified.proof(path, data=(str(tmp_path / "given.csv"),))
    digest = sha256("n\n1\n")
    assert proof.data == (
        InputFile(path="data/given.csv", sha256=digest, bytes=4, why="given"),
        InputFile(path="named.csv", sha256=digest, bytes=4, why="named"),
        InputFile(path="own_module.py", sha256=sha256("answer = 42\n"), bytes=12, why="named"),
        InputFile(path="sales.csv", sha256=digest, bytes=4, why="opened"),
    )


async def test_data_that_changes_meanwhile_proves_nothing(verified: Verifier, written: Write) -> None:
    path = written("text = open('sales.csv').read()")
    data = path.parent / "sales.csv"
    data.write_text("1")

    def meddle(text: str) -> None:
        if text.startswith("second"):
            data.write_text("2")

    assert "sales.csv changed while the notebook was verified" in said(await verified.refused(path, on_progress=meddle))


async def test_a_notebook_that_changes_meanwhile_is_not_proven(verified: Verifier, written: Write) -> None:
    path = written("x = 1")

    def meddle(text: str) -> None:
        if text.startswith("second"):
            written("x = 2")

    result = await verified.refused(path, on_progress=meddle)
    assert said(result) == ["The notebook changed while the notebook was verified"]


# ── environments ──


@pytest.mark.slow
async def test_only_what_the_header_asks_for_is_there(verified_with_wheels: Verifier, written: Write) -> None:
    verified = verified_with_wheels
    proof = await verified.proof(written("import tiny_tool\ntiny_tool.shout('hi')", requires=("tiny-tool==1.2",)))
    assert proof.environment.requirements == ("tiny-tool==1.2",)
    assert dict(proof.environment.packages) == IsPartialDict({"tiny-tool": "1.2", "marimo": "0.25.2"})
    assert "pandas" not in proof.environment.packages
    result = await verified.refused(written("import tiny_tool", "import pandas", requires=("tiny-tool==1.2",)))
    (reason,) = result.reasons
    assert reason.kind == "CellFailed"
    assert said(result) == ["cell 2 (import pandas): ModuleNotFoundError in line 1: No module named 'pandas'"]
    assert "header" in sentence_of(reason.hint)
    # No index answered, and the proof says so. Both checks came to one lock, so one environment was built.
    assert proof.environment.source == "cache"
    locked = anyio.Path(verified.settings.cache / "environments" / "locked")
    assert len([one async for one in locked.iterdir()]) == 1


@pytest.mark.slow
async def test_a_check_begins_on_what_the_header_came_to_last_time_and_counts_only_on_what_it_comes_to_now(
    verified_with_wheels: Verifier, written: Write, wheels: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own_wheels"
    await anyio.to_thread.run_sync(shutil.copytree, wheels, own)
    connection = NetworkSettings.of({"UV_FIND_LINKS": str(own), "UV_OFFLINE": "1"})
    verified = replace(verified_with_wheels, settings=replace(verified_with_wheels.settings, connection=connection))
    path = written("import tiny_tool\ntiny_tool.VERSION", requires=("tiny-tool",))
    first = await verified.proof(path)
    second = await verified.proof(path)
    assert (second.cells, second.environment) == (first.cells, first.environment)
    tiny_wheel(own, "1.3")
    third = await verified.proof(path)
    assert dict(third.environment.packages) == IsPartialDict({"tiny-tool": "1.3"})
    assert third.cells[0].output_sha256 != first.cells[0].output_sha256


@pytest.mark.slow
async def test_checks_run_with_pytest_or_without_whichever_the_header_gives(
    verified_with_wheels: Verifier, written: Write
) -> None:
    cells = ("def test_plain():\n    assert True", "def test_temporary(tmp_path):\n    assert tmp_path.exists()")
    without = await verified_with_wheels.refused(written(*cells, requires=()))
    assert [(check.name, check.outcome) for check in without.report.checks] == [
        ("test_plain", "passed"),
        ("test_temporary", "needs pytest"),
    ]
    (reason,) = without.reasons
    assert reason.kind == "CheckFailed"
    assert "pytest" in sentence_of(reason.hint)
    proof = await verified_with_wheels.proof(written(*cells, requires=("pytest",)))
    assert [(check.name, check.outcome) for check in proof.checks] == [
        ("test_plain", "passed"),
        ("test_temporary", "passed"),
    ]


@pytest.mark.slow
async def test_a_package_that_is_not_to_be_had_is_the_reason(verified_with_wheels: Verifier, written: Write) -> None:
    result = await verified_with_wheels.refused(written("x = 1", requires=("no-such-package-anywhere",)))
    (reason,) = result.reasons
    assert reason.kind == "NoEnvironment"
    assert "no-such-package-anywhere" in said(result)[0]
    assert reason.hint


async def test_a_header_that_cannot_be_read_is_the_reason(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("x = 1", requires=("tool @ https://example.com/tool.whl",)))
    assert [reason.kind for reason in result.reasons] == ["NoEnvironment"]
    assert isinstance(result, NotVerified)


# ── judging ──


def test_a_cell_nobody_heard_of_proves_nothing(verified: Verifier, written: Write) -> None:
    file = read(written("x = 1", "y = 2"))
    judge = Judge(file, machine=verified.machine(file.path.parent), masker=Masker.of(salt=b"0123456789abcdef"))
    heard = CellOutcome(id=file.document.cells[0].id, name="", status="ok")
    judge.runs([NotebookRun(number=1, outcomes=(heard,)), NotebookRun(number=2, outcomes=(heard,))], 60)
    assert [reason.text for reason in judge.reasons] == ["cell 2 (y = 2): did not run: nothing was heard of it"]


@pytest.mark.slow
async def test_a_test_that_ends_the_kernel_has_failed(verified: Verifier, written: Write) -> None:
    result = await verified.refused(written("import os", "def test_it():\n    os._exit(3)"))
    assert [(check.name, check.outcome) for check in result.report.checks] == [("test_it", "failed")]
    assert "kernel ended" in said(result)[0]
