"""The project inside a cage: what is kept, dropped, hidden, read-only, and whose it is afterwards."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot

from cellwright.sandbox.host.file_changes import FileChange, KeepReport
from cellwright.sandbox.spec import DataMount, Limits
from tests.sandbox.conftest import USERS, CageStarter, CageStarterFor, Zygote

STRANGER = 65533


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def keep(starter: CageStarter, program: str, between: str = "", **changes: Any) -> KeepReport:
    spec = replace(starter.spec, **changes)
    async with starter.zygote.cage(spec, program) as cage:
        await cage.output()
        if between:
            exec(between, {"project": starter.project})
        with anyio.fail_after(120):
            return await cage.control.keep(starter.project, hidden=spec.hidden)


async def changes(starter: CageStarter, program: str) -> tuple[FileChange, ...]:
    async with starter.zygote.cage(starter.spec, program) as cage:
        await cage.output()
        with anyio.fail_after(120):
            return await cage.control.changes()


EDITS = """
import os, shutil
open('changed.txt', 'a').write(' more')
open('made.txt', 'w').write('new')
os.makedirs('deep/er'); open('deep/er/x', 'w').write('x')
os.remove('gone.txt')
shutil.rmtree('old')
open('touched.txt', 'a').close()
os.symlink('made.txt', 'link')
"""


def prepare(starter: CageStarter) -> None:
    for path in ("changed.txt", "gone.txt", "old/a", "old/in/b", "touched.txt"):
        starter.write(path, path)


async def test_every_change_is_listed_once(starter: CageStarter) -> None:
    prepare(starter)
    found = [(change.path, change.kind, change.what, change.bytes) for change in await changes(starter, EDITS)]
    assert found == snapshot(
        [
            ("changed.txt", "modified", "file", 16),
            ("deep", "created", "directory", 0),
            ("deep/er", "created", "directory", 0),
            ("deep/er/x", "created", "file", 1),
            ("gone.txt", "deleted", "file", 0),
            ("link", "created", "symlink", 8),
            ("made.txt", "created", "file", 3),
            ("old/a", "deleted", "file", 0),
            ("old/in/b", "deleted", "file", 0),
            ("old/in", "deleted", "directory", 0),
            ("old", "deleted", "directory", 0),
        ]
    )


async def test_kept_changes_are_in_the_project_and_belong_to_its_owner(starter: CageStarter) -> None:
    prepare(starter)
    report = await keep(starter, EDITS)
    assert report.refused == ()
    left = sorted(str(path.relative_to(starter.project)) for path in starter.project.rglob("*"))
    assert left == ["changed.txt", "deep", "deep/er", "deep/er/x", "link", "made.txt", "touched.txt"]
    assert (starter.project / "changed.txt").read_text() == "changed.txt more"
    owner = starter.project.stat().st_uid
    assert {path.lstat().st_uid for path in starter.project.rglob("*")} == {owner}


async def test_dropped_changes_leave_the_project_as_it_was(starter: CageStarter) -> None:
    prepare(starter)
    before = {path: path.read_bytes() for path in starter.project.rglob("*") if path.is_file()}
    await starter.run(EDITS, files="drop")
    assert {path: path.read_bytes() for path in starter.project.rglob("*") if path.is_file()} == before


async def test_direct_changes_are_in_the_project_at_once(starter: CageStarter) -> None:
    prepare(starter)
    async with starter.zygote.cage(replace(starter.spec, files="direct"), EDITS) as cage:
        await cage.output()
        assert (starter.project / "made.txt").read_text() == "new"
        assert await cage.control.changes() == ()
    owner = starter.project.stat().st_uid
    assert {path.lstat().st_uid for path in starter.project.rglob("*")} == {owner}


async def test_a_directory_removed_and_made_again_loses_its_old_files(starter: CageStarter) -> None:
    prepare(starter)
    report = await keep(starter, "import shutil, os\nshutil.rmtree('old')\nos.mkdir('old')\nopen('old/new', 'w')")
    assert report.refused == ()
    assert names(starter.project / "old") == ["new"]


async def test_a_file_that_becomes_a_directory_and_back(starter: CageStarter) -> None:
    prepare(starter)
    program = """
import shutil, os
os.remove('gone.txt')
os.mkdir('gone.txt')
open('gone.txt/x', 'w')
shutil.rmtree('old')
open('old', 'w')
"""
    assert (await keep(starter, program)).refused == ()
    assert names(starter.project / "gone.txt") == ["x"]
    assert (starter.project / "old").is_file()


async def test_files_the_notebook_moved_or_linked_are_kept_under_their_new_names(starter: CageStarter) -> None:
    for path in ("a.txt", "data.txt", "old/in/b", "gone/c", "same.txt"):
        starter.write(path, path)
    program = """
import os
os.rename('a.txt', 'z.txt')
os.rename('data.txt', 'before.txt'); open('data.txt', 'w').write('new')
os.rename('old/in/b', 'b')
os.rename('gone/c', 'old/c'); os.rmdir('gone')
os.link('same.txt', 'linked.txt')
os.rename('z.txt', 'y.txt')
"""
    report = await keep(starter, program)
    assert report.refused == ()
    files = {str(path.relative_to(starter.project)): path.read_text() for path in starter.project.rglob("*.*")}
    files |= {path: (starter.project / path).read_text() for path in ("b", "old/c")}
    assert files == {
        "y.txt": "a.txt",
        "before.txt": "data.txt",
        "data.txt": "new",
        "b": "old/in/b",
        "old/c": "gone/c",
        "same.txt": "same.txt",
        "linked.txt": "same.txt",
    }
    assert names(starter.project) == ["b", "before.txt", "data.txt", "linked.txt", "old", "same.txt", "y.txt"]


async def test_a_file_a_person_changed_meanwhile_is_never_overwritten(starter: CageStarter) -> None:
    prepare(starter)
    program = """
import os
open('changed.txt', 'w').write('notebook')
open('made.txt', 'w').write('notebook')
os.remove('gone.txt')
os.remove('touched.txt')
"""
    between = """
for name in ('changed.txt', 'made.txt', 'gone.txt'): (project / name).write_text('person')
(project / 'touched.txt').unlink()
"""
    report = await keep(starter, program, between)
    assert report == snapshot(
        KeepReport(
            kept=(),
            refused=(
                ("changed.txt", "conflict: it was changed on the host meanwhile"),
                ("made.txt", "conflict: it was changed on the host meanwhile"),
                ("gone.txt", "conflict: it was changed on the host meanwhile"),
            ),
        )
    )
    assert {(starter.project / name).read_text() for name in ("changed.txt", "made.txt", "gone.txt")} == {"person"}


async def test_a_file_a_person_deleted_meanwhile_does_not_come_back(starter: CageStarter) -> None:
    prepare(starter)
    program = "open('old/a', 'a').write('+')\nopen('changed.txt', 'a').write('+')\nopen('made.txt', 'w').write('new')"
    report = await keep(starter, program, "(project / 'old/a').unlink()")
    assert report == KeepReport(
        kept=("changed.txt", "made.txt"), refused=(("old/a", "conflict: it was deleted on the host meanwhile"),)
    )


async def test_where_a_file_may_as_well_have_been_moved_it_comes_back_rather_than_be_lost(starter: CageStarter) -> None:
    prepare(starter)
    program = "import os\nopen('old/a', 'a').write('+')\nos.remove('gone.txt')"
    report = await keep(starter, program, "(project / 'old/a').unlink()")
    assert report == KeepReport(kept=("old/a", "gone.txt"), refused=())
    assert (starter.project / "old/a").read_text() == "old/a+"


async def test_the_repository_is_readable_and_not_writable(starter: CageStarter) -> None:
    starter.write(".git/config", "ours")
    starter.write(".cellwright/rules.toml", "ours")
    program = """
print(open('.git/config').read(), open('.cellwright/rules.toml').read())
for path in ('.git/config', '.git/hooks', '.cellwright/rules.toml'):
    try: open(path, 'w')
    except OSError as error: print(error.strerror)
import os
try: os.rename('.git', 'moved')
except OSError as error: print(error.strerror)
"""
    expected = "ours ours\n" + "Read-only file system\n" * 3 + "Device or resource busy\n"
    assert await starter.run(program) == expected
    assert await starter.run(program, files="direct") == expected


async def test_a_protected_file_is_read_only(starter: CageStarter) -> None:
    starter.write("sub/nb.py", "ours")
    program = """
import os
for action in (lambda: open('sub/nb.py', 'w'), lambda: os.remove('sub/nb.py'), lambda: os.rename('sub', 'moved')):
    try: action()
    except OSError as error: print(error.strerror)
print(open('sub/nb.py').read())
"""
    expected = "Read-only file system\nDevice or resource busy\n"
    protected = (".git", "sub/nb.py")
    assert (await starter.run(program, protected=protected)).startswith(expected)
    assert (starter.project / "sub" / "nb.py").read_text() == "ours"


async def test_a_repository_cannot_be_smuggled_into_a_project_without_one(starter: CageStarter) -> None:
    make = """
import os
try:
    os.makedirs('.git/hooks')
    open('.git/hooks/post-checkout', 'w').write('x')
except OSError:
    pass
"""
    report = await keep(starter, make + "os.makedirs('sub/.GIT')")
    assert not (starter.project / ".git").exists()
    assert not (starter.project / "sub" / ".GIT").exists()
    assert {path for path, _ in report.refused} == {".git", ".git/hooks", ".git/hooks/post-checkout", "sub/.GIT"}
    await starter.run(make, files="direct")
    assert names(starter.project) == ["sub"]


async def test_hidden_files_are_listed_but_unreadable(starter: CageStarter) -> None:
    for path in (".env", "conf/prod.key", ".aws/credentials"):
        starter.write(path, "secret")
    program = """
import os, json
print(json.dumps([sorted(os.listdir('.')), os.path.exists('.env')]))
def attempt(action):
    try: action()
    except OSError as error: print(error.strerror)
    else: print('done')
attempt(lambda: open('.env').read())
attempt(lambda: open('conf/prod.key').read())
attempt(lambda: os.listdir('.aws'))
attempt(lambda: os.chmod('.env', 0o644))
attempt(lambda: os.remove('.env'))
attempt(lambda: os.rename('conf', 'conf2') or open('conf2/prod.key').read())
"""
    hidden = (".env", "conf/prod.key", ".aws")
    for files in ("keep", "direct"):
        first, *rest = (await starter.run(program, hidden=hidden, files=files)).splitlines()
        places = {".cellwright", ".git"} if files == "direct" else set[str]()
        assert json.loads(first) == [sorted({".aws", ".env", "conf"} | places), True]
        assert "done" not in rest
        if (starter.project / "conf2").exists():
            (starter.project / "conf2").rename(starter.project / "conf")
    assert (starter.project / ".env").read_text() == "secret"
    report = await keep(starter, "import os\nos.makedirs('new', exist_ok=True)", hidden=hidden)
    assert report.kept == ("new",)


async def test_data_from_elsewhere_is_readable_at_its_place(
    starter: CageStarter, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = starter.project.parent / f"{starter.project.name}-data"
    outside.mkdir()
    outside.chmod(0o755)
    try:
        (outside / "sales.csv").write_text("1,2")
        data = (
            DataMount(source=str(outside / "sales.csv"), target="data/in/sales.csv"),
            DataMount(source=str(outside), target="all"),
        )
        program = """
print(open('data/in/sales.csv').read(), open('all/sales.csv').read())
for path in ('data/in/sales.csv', 'all/new'):
    try: open(path, 'w')
    except OSError as error: print(error.strerror)
open('data/own.txt', 'w').write('mine')
"""
        expected = "1,2 1,2\nRead-only file system\nRead-only file system\n"
        async with starter.zygote.cage(replace(starter.spec, data=data), program) as cage:
            assert await cage.output() == expected
            report = await cage.control.keep(starter.project)
        assert report == KeepReport(kept=("data", "data/own.txt"), refused=())
        assert sorted(str(path.relative_to(starter.project)) for path in starter.project.rglob("*")) == [
            "data",
            "data/own.txt",
        ]
        (starter.project / "data" / "own.txt").unlink()
        (starter.project / "data").rmdir()
        assert await starter.run(program, data=data, files="direct") == expected
        assert sorted(str(path.relative_to(starter.project)) for path in starter.project.rglob("*")) == [
            "data",
            "data/own.txt",
        ]
    finally:
        (outside / "sales.csv").unlink()
        outside.rmdir()


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_data_only_root_may_read_is_readable_when_root_gives_it(starter_for: CageStarterFor, user: str) -> None:
    starter = starter_for("root")
    starter.write("elsewhere/private.csv", "1,2").chmod(0o600)
    (starter.project / "elsewhere").chmod(0o700)
    data = (DataMount(source=str(starter.project / "elsewhere" / "private.csv"), target="data.csv"),)
    inner = starter.project / "inner"
    inner.mkdir()
    assert await starter.run("print(open('data.csv').read())", data=data, project=str(inner)) == "1,2\n"


async def test_links_out_of_the_project_are_not_kept(starter: CageStarter) -> None:
    program = """
import os
os.makedirs('a/b')
links = {'abs': '/etc/passwd', 'up': '../x', 'a/b/up': '../../../x', 'a/ok': '../made', 'sly': 'a/b/../../../x'}
for name, target in links.items():
    os.symlink(target, name)
"""
    report = await keep(starter, program)
    assert {path for path, _ in report.refused} == {"abs", "up", "a/b/up", "sly"}
    assert str((starter.project / "a" / "ok").readlink()) == "../made"


async def test_modes_are_kept_without_special_bits(starter: CageStarter) -> None:
    report = await keep(starter, "import os\nopen('run.sh', 'w').write('#!/bin/sh')\nos.chmod('run.sh', 0o1755)")
    assert report.kept == ("run.sh",)
    assert (starter.project / "run.sh").stat().st_mode & 0o7777 == 0o755


async def test_a_large_file_is_kept_whole(starter: CageStarter) -> None:
    await keep(starter, "open('big', 'wb').write(bytes(range(256)) * 40_000)")
    assert (starter.project / "big").read_bytes() == bytes(range(256)) * 40_000


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_files_of_other_owners_are_editable_when_root_starts_the_cage(
    starter_for: CageStarterFor, user: str
) -> None:
    starter = starter_for("root")
    os.chown(starter.project, 54322, 54322)
    starter.write("own.txt", "own")
    starter.write("root.txt", "root", owner=0).chmod(0o600)
    starter.write("in/stranger.txt", "stranger", owner=STRANGER).chmod(0o640)
    starter.write("closed/file", "closed", owner=STRANGER)
    (starter.project / "closed").chmod(0o700)
    program = """
for path in ('own.txt', 'root.txt', 'in/stranger.txt', 'closed/file'):
    print(open(path).read(), end=' ')
    open(path, 'a').write('+')
open('in/new', 'w').write('new')
"""
    async with starter.zygote.cage(starter.spec, program) as cage:
        assert await cage.output() == "own root stranger closed "
        report = await cage.control.keep(starter.project)
    assert report.refused == ()
    assert (starter.project / "root.txt").read_text() == "root+"
    owners = {path.name: path.stat().st_uid for path in starter.project.rglob("*") if path.is_file()}
    assert owners == {"own.txt": 54322, "root.txt": 0, "stranger.txt": STRANGER, "file": STRANGER, "new": 54322}


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_no_set_user_id_file_of_root_can_be_left_in_a_project(starter_for: CageStarterFor, user: str) -> None:
    starter = starter_for("root")
    program = """
import os
open('tool', 'w').close()
try:
    os.chmod('tool', 0o4755)
except OSError as error:
    print(error.strerror)
"""
    assert await starter.run(program, files="direct") == "Operation not permitted\n"
    assert (starter.project / "tool").stat().st_mode & 0o6000 == 0


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_a_file_system_without_id_maps_is_worked_on_as_a_copy(starter_for: CageStarterFor, user: str) -> None:
    starter = starter_for("root")
    place = starter.project / "place"
    for name in ("place", "upper", "work", "lower"):
        (starter.project / name).mkdir()
    (starter.project / "lower" / "a.txt").write_text("a")
    (starter.project / "lower" / ".env").write_text("secret")
    options = ",".join(f"{name}dir={starter.project / name}" for name in ("lower", "upper", "work"))
    await anyio.run_process(["mount", "-t", "overlay", "overlay", "-o", options, str(place)])
    zygote = Zygote.launch("root")
    try:
        spec = replace(starter.spec, project=str(place), hidden=(".env",))
        async with zygote.cage(spec, "import os\nopen('a.txt', 'a').write('b')\nprint(os.listdir('.'))") as cage:
            assert await cage.output() == "['a.txt']\n"
            report = await cage.control.keep(place)
        assert report == KeepReport(kept=("a.txt",), refused=())
        assert (place / "a.txt").read_text() == "ab"
        (place / "big").write_bytes(bytes(3 << 20))
        with pytest.raises(OSError, match="too big to be copied"):
            await zygote.start(replace(spec, limits=Limits(disk_mb=2)))
        with pytest.raises(OSError, match="Direct file access"):
            await zygote.start(replace(spec, files="direct"))
    finally:
        zygote.close()
        await anyio.run_process(["umount", str(place)])
