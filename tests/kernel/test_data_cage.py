"""Data is read by a program in a cage that has these files and nothing else; what it cannot bear is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import DataCage, merge_profiles
from cellwright.profiles.profile import Profile, ProfileRequest
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import DataMount, Limits, Tier
from tests.profiles.made import a_table, two_tables


async def a_cage(pool: KernelPool, tier: Tier | None = None, **changes: Limits) -> DataCage:
    return DataCage(zygote=await pool.zygote(), tier=tier or probe().tier, **changes)


def csv(folder: Path, name: str, text: str = "day,eggs\n2024-01-01,4\n2024-01-02,5\n2024-01-03,7\n") -> DataMount:
    path = folder / name
    path.write_text(text)
    return DataMount(source=str(path), target=f"farm/{name}")


@pytest.mark.slow
@pytest.mark.parametrize("tier", [None, "D"])
async def test_files_are_profiled_with_and_without_mounts(pool: KernelPool, tmp_path: Path, tier: Tier | None) -> None:
    files = [csv(tmp_path, "hens.csv"), csv(tmp_path, "geese.csv", "goose;kg\nAda;3,5\nBo;4,25\nCy;5,75\n")]
    asked = ProfileRequest(paths=tuple(file.target for file in files))
    profile = await (await a_cage(pool, tier)).profile(files, asked)
    told = {table.reading.path: (table.rows, [column.name for column in table.columns]) for table in profile.tables}
    assert told == {"farm/hens.csv": (3, ["day", "eggs"]), "farm/geese.csv": (3, ["goose", "kg"])}


async def test_the_cage_holds_the_files_that_were_given_and_no_others(pool: KernelPool, tmp_path: Path) -> None:
    hens, secret = csv(tmp_path, "hens.csv"), csv(tmp_path, "secret.csv")
    asked = ProfileRequest(paths=(hens.target, secret.target))
    profile = await (await a_cage(pool)).profile([hens], asked)
    assert [table.reading.path for table in profile.tables] == ["farm/hens.csv"]
    assert [skipped.path for skipped in profile.skipped] == ["farm/secret.csv"]


@pytest.mark.slow
async def test_a_file_that_is_gone_is_named_and_the_others_are_told(pool: KernelPool, tmp_path: Path) -> None:
    gone = DataMount(source=str(tmp_path / "gone.csv"), target="farm/gone.csv")
    files = [csv(tmp_path, "hens.csv"), gone, csv(tmp_path, "ducks.csv")]
    profile = await (await a_cage(pool)).profile(files, ProfileRequest(paths=tuple(file.target for file in files)))
    assert {path for table in profile.tables for path in (table.reading.path, *table.files)} == {
        "farm/hens.csv",
        "farm/ducks.csv",
    }
    assert [skipped.path for skipped in profile.skipped] == ["farm/gone.csv"]


async def test_a_file_alone_that_cannot_be_read_is_an_error(pool: KernelPool, tmp_path: Path) -> None:
    gone = DataMount(source=str(tmp_path / "gone.csv"), target="gone.csv")
    with pytest.raises(Unavailable, match=r"could not (be started|start)"):
        await (await a_cage(pool)).profile([gone], ProfileRequest(paths=("gone.csv",)))


async def test_where_no_cage_is_to_be_had_several_files_are_an_error_too(pool: KernelPool, tmp_path: Path) -> None:
    gone = [DataMount(source=str(tmp_path / name), target=name) for name in ("a.csv", "b.csv")]
    with pytest.raises(Unavailable, match=r"could not (be started|start)"):
        await (await a_cage(pool)).profile(gone, ProfileRequest(paths=("a.csv", "b.csv")))


async def test_a_reader_that_wants_too_much_is_stopped(pool: KernelPool, tmp_path: Path) -> None:
    cage = await a_cage(pool, limits=Limits(memory_mb=24, disk_mb=8, tmp_mb=8))
    with pytest.raises(Unavailable, match="ended without an answer"):
        await cage.profile([csv(tmp_path, "hens.csv")], ProfileRequest(paths=("farm/hens.csv",)))


def test_profiles_made_one_by_one_keep_their_tables_apart() -> None:
    both = merge_profiles([two_tables(), two_tables(), Profile(tables=(a_table("sales_2"),), notes=("n",))])
    assert [table.name for table in both.tables] == ["sales", "regions", "sales_2", "regions_2", "sales_2_2"]
    assert [(join.left, join.right) for join in both.joins] == [("sales", "regions"), ("sales_2", "regions_2")]
    assert both.notes == ("n",)
