"""Limits from words, and a spec that survives the way to the zygote."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.sandbox.spec import CageSpec, DataMount, Limits


def test_limits_are_read_from_words() -> None:
    words = [
        "memory=2g",
        "wall=20s",
        "cpu=5m",
        "disk=512M",
        "tmp=64mb",
        "processes=8",
        "open_files=9",
        "inodes=10",
        "output=1.5g",
        "kept_files=5",
        "kept_size=2g",
        "keep_time=10s",
    ]
    assert Limits.parse(words).as_dict() == snapshot(
        {
            "memory_mb": 2048,
            "cpu_seconds": 300.0,
            "wall_seconds": 20.0,
            "processes": 8,
            "open_files": 9,
            "disk_mb": 512,
            "inodes": 10,
            "tmp_mb": 64,
            "output_mb": 1536,
            "kept_files": 5,
            "kept_mb": 2048,
            "keep_seconds": 10.0,
        }
    )
    assert Limits.parse([]) == Limits()
    assert Limits.parse(["wall=1h", "wall=90"]).wall_seconds == 90


@pytest.mark.parametrize(
    "word",
    [
        "memory",
        "memory=",
        "memory=x",
        "memory=0",
        "memory=-1g",
        "wall=0s",
        "cpu=1d",
        "processes=0",
        "processes=²",
        "speed=9",
        "=1",
    ],
)
def test_a_limit_nobody_understands_is_refused_with_a_hint(word: str) -> None:
    with pytest.raises(UserError) as refused:
        Limits.parse([word])
    assert refused.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"hidden": ("../x",)},
        {"hidden": ("/etc/passwd",)},
        {"protected": ("a//b",)},
        {"data": (DataMount(source="/d", target="../x"),)},
        {"data": (DataMount(source="/d", target=".git/x"),)},
        {"data": (DataMount(source="d", target="d"),)},
        {"software": ("usr",)},
        {"project": "."},
    ],
)
def test_a_spec_that_leads_out_of_the_project_is_refused(change: dict[str, Any]) -> None:
    spec = replace(CageSpec(name="x", tier="A", project="/p", environment={}), **change)
    with pytest.raises(UserError):
        spec.check()


def test_a_spec_survives_the_way_to_the_zygote() -> None:
    spec = CageSpec(
        name="x",
        tier="A",
        project="/p",
        files="drop",
        hidden=(".env",),
        data=(DataMount(source="/d", target="d"),),
        software=("/s",),
        limits=Limits(memory_mb=1, cpu_seconds=2.5),
        address_space_mb=9,
        uid=7,
        environment={"A": "b"},
        cwd="/project/x",
    )
    assert CageSpec.of(json.loads(json.dumps(asdict(spec)))) == spec
