"""What a page takes along out of a mirror, decided before anything is written; what is missing, by name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.runs.publish.offline_packages import PageNeeds
from cellwright.runs.publish.offline_page import OfflinePlan, offline_obstacles, plan_offline, write_offline
from cellwright.runs.publish.pyodide_mirror import CORE_FILES, LOCK_FILE, read_mirror
from tests.runs.publish.mirrors import MARIMO, PAGE_PACKAGES, VERSION, add_wheel, tiny_mirror

OUTSIDE = {"name": "a", "version": "1", "file_name": "a.whl", "sha256": "0" * 64}


def planned(
    mirror: Path, *, code: str = "", packages: tuple[str, ...] = (), requirements: tuple[str, ...] = ()
) -> OfflinePlan:
    needs = PageNeeds(code=code, packages=packages, requirements=requirements, marimo_version=MARIMO)
    return plan_offline(read_mirror(mirror, version=VERSION), needs)


def told(plan: OfflinePlan) -> list[str]:
    return [one.text for one in offline_obstacles(plan, version=VERSION)]


def unmet(plan: OfflinePlan) -> list[str]:
    return [f"{one.requirement} for {one.asked_by}" for one in plan.packages.unmet]


def test_a_whole_mirror_gives_the_core_and_what_marimo_needs_and_nothing_else(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror", {**PAGE_PACKAGES, "scipy": "1.0"})
    plan = planned(mirror)
    assert told(plan) == []
    assert set(plan.files) - set(CORE_FILES) == {
        f"{name.replace('-', '_')}-{version}-py3-none-any.whl" for name, version in PAGE_PACKAGES.items()
    }


@pytest.mark.parametrize(
    ("code", "packages", "requirements", "taken"),
    [
        ("", ("pandas",), (), {"pandas", "numpy"}),
        ("", (), ("Pandas>=2",), {"pandas", "numpy"}),
        ("", (), ("pandas; sys_platform == 'win32'",), set[str]()),
        ("", (), ("numpy; sys_platform == 'emscripten'",), {"numpy"}),
        ("", (), (f"marimo[sql]=={MARIMO}",), set[str]()),
        ("mo.sql('select 1')", (), (), {"pandas", "numpy", "duckdb", "sqlglot"}),
        ("import duckdb, polars", (), (), {"pandas", "numpy", "duckdb", "sqlglot", "pyarrow"}),
    ],
)
def test_a_page_takes_what_its_notebook_asks_for_and_what_that_needs(
    tmp_path: Path, code: str, packages: tuple[str, ...], requirements: tuple[str, ...], taken: set[str]
) -> None:
    more = dict.fromkeys(("pandas", "numpy", "duckdb", "sqlglot", "pyarrow"), "3.0")
    mirror = tiny_mirror(tmp_path / "mirror", {**PAGE_PACKAGES, **more}, depends={"pandas": ("numpy",)})
    plan = planned(mirror, code=code, packages=packages, requirements=requirements)
    assert told(plan) == []
    assert set(plan.packages.chosen) - set(PAGE_PACKAGES) == taken


def test_missing_files_are_named_and_those_that_are_not_what_the_lock_says(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    (mirror / "pyodide.asm.wasm").unlink()
    (mirror / "jedi-1.0-py3-none-any.whl").unlink()
    (mirror / "markdown-1.0-py3-none-any.whl").write_text("another")
    plan = planned(mirror)
    assert (plan.missing, plan.changed) == (
        ("pyodide.asm.wasm", "jedi-1.0-py3-none-any.whl"), ("markdown-1.0-py3-none-any.whl",),
    )  # fmt: skip
    assert told(plan) == [
        "The mirror lacks pyodide.asm.wasm, jedi-1.0-py3-none-any.whl.",
        "Not what the mirror's lock says (sha256): markdown-1.0-py3-none-any.whl.",
    ]


def test_a_long_list_of_missing_files_is_bounded(tmp_path: Path) -> None:
    many = {f"part{number}": "1.0" for number in range(40)}
    mirror = tiny_mirror(tmp_path / "mirror", {**PAGE_PACKAGES, **many})
    for name in many:
        (mirror / f"{name}-1.0-py3-none-any.whl").unlink()
    plan = planned(mirror, packages=tuple(many))
    assert len(plan.missing) == 40
    assert told(plan)[0].endswith("part19-1.0-py3-none-any.whl and 20 more.")


def test_a_core_alone_says_all_that_a_page_needs_besides_and_how_to_get_it(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror", {"packaging": "26.1", "msgspec": "0.20.0", "pyyaml": "6.0"})
    plan = planned(mirror, requirements=("tomlkit>=0.13",))
    names = [one.requirement for one in plan.packages.unmet]
    assert f"marimo-base=={MARIMO}" in names and "micropip" in names
    # What marimo itself asks for is known here: all is named at once, and the lock's msgspec is too old for it.
    assert [one for one in names if one.startswith(("msgspec", "tomlkit", "itsdangerous"))] == [
        "msgspec>=0.22.0", "tomlkit>=0.12.0,>=0.13", "itsdangerous>=2.0.0",
    ]  # fmt: skip
    hint = next(one.hint for one in offline_obstacles(plan, version=VERSION) if "Neither" in one.text)
    assert "--python-version 3.14 --platform pyemscripten_2026_0_wasm32" in hint and "'msgspec>=0.22.0'" in hint
    assert "://" not in "".join(one.text + one.hint for one in offline_obstacles(plan, version=VERSION))


def test_without_a_lock_or_with_another_version_it_says_so(tmp_path: Path) -> None:
    bare = tiny_mirror(tmp_path / "bare")
    (bare / LOCK_FILE).unlink()
    assert told(planned(bare)) == [
        "The mirror lacks pyodide-lock.json. What packages need cannot be told without its lock."
    ]
    other = tiny_mirror(tmp_path / "other", version="0.1.2")
    assert told(planned(other)) == [f"The mirror's core is not Pyodide {VERSION}, which marimo's pages load."]


@pytest.mark.parametrize(
    "lock",
    [
        "no JSON",
        '{"packages": 3}',
        json.dumps(
            {"info": {}, "packages": {"a": {"name": "a", "version": "1", "file_name": "..", "sha256": "0" * 64}}}
        ),
    ],
)
def test_a_lock_that_cannot_be_read_or_names_a_file_elsewhere_is_an_error(tmp_path: Path, lock: str) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    (mirror / LOCK_FILE).write_text(lock)
    with pytest.raises(UserError, match="no lock of Pyodide's"):
        read_mirror(mirror, version=VERSION)
    with pytest.raises(UserError, match="is no folder"):
        read_mirror(tmp_path / "nowhere", version=VERSION)


@pytest.mark.parametrize(
    ("file_name", "requirement", "missing"),
    [
        ("extra-2.0-py3-none-any.whl", "extra>=2", []),
        ("extra-2.0-py3-none-any.whl", "extra>=3", ["extra>=3 for its header"]),
        ("extra-2.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", "extra", []),
        ("extra-2.0-cp314-cp314-manylinux_2_28_x86_64.whl", "extra", ["extra for its header"]),
        ("extra-2.0-cp314-cp314-pyemscripten_2025_0_wasm32.whl", "extra", ["extra for its header"]),
        ("pygments-9.0-py3-none-any.whl", "pygments>=9", []),
        ("pygments-9.0-py3-none-any.whl", "pygments<9,>=2", ["pygments<9,>=2 for marimo"]),
    ],
)
def test_a_wheel_beside_the_lock_counts_where_it_would_install_and_its_version_does(
    tmp_path: Path, file_name: str, requirement: str, missing: list[str]
) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    add_wheel(mirror, file_name)
    plan = planned(mirror, requirements=(requirement,))
    assert unmet(plan) == missing
    assert (file_name in plan.files) is (not missing)


def test_what_wheels_need_goes_along_as_markers_and_extras_say_in_a_page(tmp_path: Path) -> None:
    mirror = tiny_mirror(tmp_path / "mirror")
    add_wheel(
        mirror, "one-1.0-py3-none-any.whl",
        "two[more]>=1", "nothing; sys_platform != 'emscripten'", "nothing; extra == 'docs'",
        "ancient; python_version < '3.9'",
    )  # fmt: skip
    add_wheel(mirror, "two-1.5-py3-none-any.whl", "three; extra == 'more'", "one")
    add_wheel(mirror, "two-0.5-py3-none-any.whl")
    add_wheel(mirror, "three-1.0-py3-none-any.whl")
    plan = planned(mirror, requirements=("one",))
    assert told(plan) == []
    assert {name: plan.packages.depends[name] for name in plan.packages.chosen if name not in PAGE_PACKAGES} == {
        "one": ("two",), "two": ("three",), "three": (),
    }  # fmt: skip


def test_beside_the_page_lie_the_core_the_wheels_and_a_lock_of_just_these(tmp_path: Path) -> None:
    mirror, page = tiny_mirror(tmp_path / "mirror", {**PAGE_PACKAGES, "scipy": "1.0"}), tmp_path / "page"
    add_wheel(mirror, "one-1.0-py3-none-any.whl", "packaging")
    page.mkdir()
    plan = planned(mirror, requirements=("one",))
    write_offline(plan, page)
    assert {one.name for one in (page / "pyodide").iterdir()} == {LOCK_FILE, *plan.files}
    lock = json.loads((page / "pyodide" / LOCK_FILE).read_text())
    assert set(lock["packages"]) == {*PAGE_PACKAGES, "one"}
    assert lock["packages"]["one"] == {
        "name": "one", "version": "1.0", "file_name": "one-1.0-py3-none-any.whl", "depends": ["packaging"],
        "imports": ["one"], "package_type": "package", "install_dir": "site", "unvendored_tests": False,
        "sha256": hashlib.sha256((mirror / "one-1.0-py3-none-any.whl").read_bytes()).hexdigest(),
    }  # fmt: skip
