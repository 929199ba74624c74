"""Paths have one spelling; patterns mean what they say and cannot be walked around."""

from __future__ import annotations

import fnmatch
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.policy.paths import PathPattern, is_within, matches_glob, parse_path, parse_path_pattern
from tests.policy.strategies import PROJECT, PROPERTY, paths


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("data/x.csv", f"{PROJECT}/data/x.csv"),
        ("./data//./x.csv", f"{PROJECT}/data/x.csv"),
        ("data/", f"{PROJECT}/data"),
        (".", PROJECT),
        ("/etc/passwd", "/etc/passwd"),
        ("//etc///passwd", "/etc/passwd"),
        ("/", "/"),
        ("...", f"{PROJECT}/..."),
        ("~/x", f"{PROJECT}/~/x"),
    ],
)
def test_a_path_has_one_spelling(text: str, path: str) -> None:
    assert parse_path(text, PROJECT) == path


@pytest.mark.parametrize("text", ["", "..", "../x", "data/../../x", "/a/..", "data/..", "a\0b"])
def test_a_path_that_could_lead_elsewhere_is_none(text: str) -> None:
    assert parse_path(text, PROJECT) is None


@PROPERTY
@given(text=paths())
def test_the_one_spelling_of_a_path_is_absolute_normal_and_stays_itself(text: str) -> None:
    path = parse_path(text, PROJECT)
    if path is not None:
        assert path == posixpath.normpath(path).replace("//", "/")
        assert parse_path(path, "/elsewhere") == path


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("data/**", f"{PROJECT}/data/a/b.csv", True),
        ("data/**", f"{PROJECT}/data", True),
        ("data/**", f"{PROJECT}/database/x", False),
        ("data/*", f"{PROJECT}/data/a/b.csv", False),
        ("data/*.csv", f"{PROJECT}/data/.csv", True),
        ("**", f"{PROJECT}/x", True),
        ("**", "/etc/passwd", False),
        ("/**", "/etc/passwd", True),
        ("/**/.env", "/a/b/.env", True),
        ("/**/.env", "/.env", True),
        ("/**/.env", "/a/x.env", False),
        ("a/**/b/**/c", f"{PROJECT}/a/1/b/b/2/c", True),
        ("a/**/b/**/c", f"{PROJECT}/a/1/c/b", False),
        ("~/.ssh/**", "/home/ada/.ssh/id_rsa", True),
        ("~", "/home/ada", True),
        ("x?.csv", f"{PROJECT}/x1.csv", True),
        ("x?.csv", f"{PROJECT}/x.csv", False),
        ("./!x", f"{PROJECT}/!x", True),
    ],
)
def test_a_pattern_means_just_these_paths(pattern: str, path: str, matches: bool) -> None:
    wanted = parse_path_pattern(pattern, project=PROJECT, home="/home/ada")
    assert isinstance(wanted, PathPattern)
    assert wanted.matches(path) is matches


@pytest.mark.parametrize("pattern", ["", "../x", "a/../b", "a**", "a/**b/c", "[ab]", "{a,b}", "a\\b", "~bob/x", "!x"])
def test_a_pattern_nobody_can_be_sure_of_is_refused(pattern: str) -> None:
    assert isinstance(parse_path_pattern(pattern, project=PROJECT, home="/home/ada"), str)


def test_a_home_nobody_told_is_refused() -> None:
    assert isinstance(parse_path_pattern("~/x", project=PROJECT, home=""), str)


@PROPERTY
@given(pattern=st.text("ab*?", max_size=8), name=st.text("abc", max_size=10))
def test_globs_agree_with_the_standard_library(pattern: str, name: str) -> None:
    assert matches_glob(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_a_hostile_glob_takes_no_time_to_speak_of() -> None:
    assert not matches_glob("a*" * 200 + "b", "a" * 2000)


def test_within_a_folder_means_whole_names() -> None:
    assert is_within("/a/b", "/a")
    assert is_within("/a", "/a")
    assert is_within("/a", "/")
    assert not is_within("/ab", "/a")
