"""Rule files become rules, or one clear error with file, line and column; never a looser policy."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.errors import UserError
from cellwright.policy.actions import Action, ReadFile, RunShell, UseNetwork, WriteFile
from cellwright.policy.budgets import Limit
from cellwright.policy.built_in import BUILT_IN_RULES, default_for
from cellwright.policy.judgement import Allow, judge
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.policy.rules import STRICTNESS, RuleEffect, Rules
from cellwright.policy.targets import Malformed, target_of
from tests.policy.strategies import NOW, PROJECT, PROPERTY, actions

FULL = """\
# What Ada allows.
[[rule]]
action = ["read-file", "write-file"]   # both
then = "allow"
paths = [
  "data/**",  # the data
  'out/*.csv',
]
except_paths = ["data/private/**"]
reason = "Ordinary work"

[[rule]]
action = "use-network"
then = "deny"
hosts = ["*"]
except_hosts = ["*.example.com", "db.internal:5432"]

[[rule]]
action = "query-connection"
then = "allow"
connections = ["sales*"]
access = ["read"]

[[rule]]
action = "spend"
then = "ask"
above = "0.50 USD"

[[rule]]
action = "spend"
then = "allow"
up_to = "0.50 USD"

[[rule]]
action = "install-package"
then = "allow"
packages = ["Scikit_Learn", "types-*"]

[[rule]]
action = "run-shell"
then = "allow"
commands = ["git status", "git log **"]

[[rule]]
action = "git-commit"
then = "deny"
branches = ["main", "release/*"]

[[rule]]
action = "call-tool"
then = "allow"
tools = ["github/search_*"]

[[rule]]
action = "*"
then = "ask"

[[limit]]
of = "money"
per = "run"
at_most = "2.50 USD"

[[limit]]
of = "steps"
per = "person"
each = "day"
at_most = 500
"""


def rules_of(text: str, layer: Any = "user") -> Rules:
    return read_rules([RuleText.of(layer, "rules.toml", text)], project=PROJECT, home="/home/ada")


def test_a_whole_file_is_read() -> None:
    rules = rules_of(FULL)
    assert [(rule.where, rule.says, len(rule.kinds)) for rule in rules.rules] == [
        ("rules.toml:2", "allow", 2),
        ("rules.toml:12", "deny", 1),
        ("rules.toml:18", "allow", 1),
        ("rules.toml:24", "ask", 1),
        ("rules.toml:29", "allow", 1),
        ("rules.toml:34", "allow", 1),
        ("rules.toml:39", "allow", 1),
        ("rules.toml:44", "deny", 1),
        ("rules.toml:49", "allow", 1),
        ("rules.toml:54", "ask", 13),
    ]
    assert rules.rules[0].reason == "Ordinary work"
    assert rules.limits == (
        Limit(measure="money", per="run", at_most=Decimal("2.50"), currency="USD", where="rules.toml:58"),
        Limit(measure="steps", per="person", window="day", at_most=Decimal(500), where="rules.toml:63"),
    )
    assert [limit.describe() for limit in rules.limits] == ["2.50 USD per run", "500 steps per person and day"]


def test_the_built_in_rules_are_a_rule_file_like_any_other() -> None:
    assert [rule.layer for rule in read_rules([BUILT_IN_RULES]).rules] == ["built-in"] * 4


def test_windows_line_ends_change_neither_rules_nor_lines() -> None:
    assert rules_of(FULL.replace("\n", "\r\n")) == rules_of(FULL)


RULE = '[[rule]]\naction = "read-file"\nthen = "deny"\n'


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("[[rule]\n", 1, 7, "not TOML"),
        ("[[rule]]\naction = \n", 2, 10, "not TOML"),
        ('[[rule]]\naction = "x', 2, 12, "not TOML"),
        (RULE + "then = 'deny'\n", 4, 14, "not TOML"),
        (f"x = {'[' * 5000}", 1, 1, "nested too deeply"),
        (f"x = {'9' * 5000}", 1, 5005, "not TOML"),
        ("\ufeff" + RULE, 1, 1, "not TOML"),
        ("x = 1\n", 1, 1, "unknown key 'x'"),
        ("\n  rule = [{then = 'deny'}]\n", 2, 10, "'action' is missing"),
        ("[rule]\nthen = 'deny'\n", 1, 1, "'rule' must be a list"),
        (RULE + "\n[[rules]]\n", 5, 1, "unknown key 'rules'"),
        (RULE + "[rule.more]\nx = 1\n", 4, 1, "unknown key 'more'"),
        (RULE + '[[rule.more]]\n"x" = 1\n', 4, 1, "unknown key 'more'"),
        (RULE + "paths.x = ['a']\n", 4, 11, "must be a list"),
        (RULE + "  path = ['a']\n", 4, 3, "unknown key 'path'"),
        (RULE + '"pa\\u0074h" = ["a"]\n', 4, 1, "unknown key 'path'"),
        (RULE + "hosts = ['a']\n", 4, 1, "unknown key 'hosts'"),
        (RULE + "above = '1 USD'\n", 4, 1, "unknown key 'above'"),
        (RULE + "paths = 'a'\n", 4, 9, "must be a list"),
        (RULE + "paths = []\n", 4, 9, "'paths' is empty"),
        (RULE + "paths = [\n 'a',\n 1,\n]\n", 6, 2, "holds what is no string"),
        (RULE + "paths = [['a']]\n", 4, 9, "holds what is no string"),
        (RULE + "paths = [ # here\n 'a', '../b']\n", 5, 7, "'../b' is empty, has `..`"),
        (RULE + "except_paths = ['a**']\n", 4, 17, "stand alone"),
        (RULE + "reason = 1\n", 4, 10, "must be a string"),
        (RULE + 'reason = """\nlong"""\n', 4, 10, "several lines"),
        (RULE + "reason = '''x'''\n", 4, 10, "several lines"),
        ("[[rule]]\nthen = 'deny'\n", 1, 1, "'action' is missing"),
        ("[[rule]]\naction = 'read-file'\n", 1, 1, "'then' is missing"),
        ("[[rule]]\naction = 'raed-file'\nthen = 'deny'\n", 2, 10, "unknown action 'raed-file'"),
        ("[[rule]]\naction = ['read-file',\n'fly']\nthen = 'deny'\n", 3, 1, "unknown action 'fly'"),
        ("[[rule]]\naction = 'read-file'\nthen = 'DENY'\n", 3, 8, "unknown then 'DENY'"),
        ("[[rule]]\naction = 'read-file'\nthen = true\n", 3, 8, "must be a string"),
        ("[[rule]]\naction = '*'\nthen = 'allow'\n", 2, 10, "never allows"),
        ("[[rule]]\naction = ['*', 'read-file']\nthen = 'deny'\n", 2, 10, "stands alone"),
        ("[[rule]]\naction = ['use-network', 'read-file']\nthen = 'deny'\n", 2, 10, "different things"),
        ("[[rule]]\naction = '*'\nthen = 'deny'\npaths = ['a']\n", 4, 1, "unknown key 'paths'"),
        ("\n[[rule]]\naction = 'read-file'\nthen = 'allow'\n", 2, 1, "needs 'paths'"),
        ("[[rule]]\naction = 'spend'\nthen = 'allow'\nabove = '1 USD'\n", 1, 1, "needs 'up_to'"),
        ("[[rule]]\naction = 'query-connection'\nthen = 'allow'\nconnections = ['a']\n", 1, 1, "needs 'access'"),
        ("[[rule]]\naction = 'query-connection'\nthen = 'deny'\naccess = ['admin']\n", 4, 11, "unknown access"),
        ("[[rule]]\naction = 'query-connection'\nthen = 'deny'\nconnections = ['']\n", 4, 16, "is empty"),
        ("[[rule]]\naction = 'spend'\nthen = 'ask'\nabove = '-1 USD'\n", 4, 9, "no amount of money"),
        ("[[rule]]\naction = 'use-network'\nthen = 'deny'\nhosts = ['http://a']\n", 4, 10, "is no"),
        ("[[rule]]\naction = 'install-package'\nthen = 'deny'\npackages = ['a>=1']\n", 4, 13, "no package name"),
        ("[[rule]]\naction = 'run-shell'\nthen = 'deny'\ncommands = ['a | b']\n", 4, 13, "no shell"),
        ("[[rule]]\naction = 'run-shell'\nthen = 'deny'\ncommands = [' ']\n", 4, 13, "is empty"),
        ("[[rule]]\naction = 'run-shell'\nthen = 'deny'\ncommands = ['a b**']\n", 4, 13, "word of its own"),
        ("[[rule]]\naction = 'git-commit'\nthen = 'deny'\nbranches = ['']\n", 4, 13, "is empty"),
        ("[[rule]]\naction = 'call-tool'\nthen = 'deny'\ntools = ['github']\n", 4, 10, "server/tool"),
        ("[[rule]]\naction = 'change-attached'\nthen = 'allow'\nservers = ['*']\n", 3, 8, "nothing contains"),
        ("[[limit]]\nof = 'cpu'\nper = 'run'\nat_most = 5\n", 2, 6, "unknown of 'cpu'"),
        ("[[limit]]\nof = 'money'\nper = 'run'\nat_most = 5\n", 4, 11, "5 is no amount of money"),
        ("[[limit]]\nof = 'rows'\nper = 'run'\nat_most = -5\n", 4, 11, "whole number"),
        ("[[limit]]\nof = 'rows'\nper = 'run'\nat_most = true\n", 4, 11, "whole number"),
        ("[[limit]]\nof = 'rows'\nper = 'run'\nat_most = 5\nthen = 'deny'\n", 5, 1, "unknown key 'then'"),
        ("[[limit]]\nof = 'rows'\nper = 'run'\nat_most = 5\neach = 'week'\n", 5, 8, "unknown each"),
        ("#" * 1_000_001, 1, 1, "more than 1000000 bytes"),
    ],
)
def test_a_mistake_is_told_by_file_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(UserError) as caught:
        rules_of(text)
    assert caught.value.message.startswith(f"rules.toml, line {line}, column {column}: ")
    assert message in caught.value.message
    assert caught.value.hint


def test_bytes_that_are_no_text_are_told_by_line_and_column() -> None:
    with pytest.raises(UserError, match=r"rules\.toml, line 2, column 3: this is not UTF-8\."):
        read_rules([RuleText(layer="user", origin="rules.toml", content="é\r\nü#".encode() + b"\xff")])


def test_a_slip_is_answered_with_the_word_that_was_meant() -> None:
    with pytest.raises(UserError) as caught:
        rules_of("[[rule]]\naction = 'raed-file'\nthen = 'deny'\n")
    assert caught.value.hint == "Did you mean 'read-file'?"


# ── fuzz ──

SEEDS = [FULL, BUILT_IN_RULES.content.decode()]
PROBES: list[Action] = [
    ReadFile(path="data/x.csv"),
    ReadFile(path="data/private/x.csv"),
    ReadFile(path="/etc/passwd"),
    WriteFile(path="out/a.csv", diff=""),
    UseNetwork(host="api.example.com", port=443),
    UseNetwork(host="evil.example", port=443),
    UseNetwork(host="169.254.169.254", port=80),
    RunShell(command=("git", "log", "-p"), folder="."),
    RunShell(command=("rm", "-r", "/"), folder="."),
]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, int, int]:
    """A rule file with a few bytes changed, taken out or put in: the bytes, and where of the seed it was touched."""
    seed = draw(st.sampled_from(SEEDS)).encode()
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 3)))
    token = st.sampled_from(
        [b'"', b"'", b"#", b"\n", b"[", b"]", b"*", b"..", b"'''", b'"""', b"allow", b"=", b"\\", b"\xff"]
    )
    put = draw(st.one_of(st.binary(max_size=3), token))
    return seed[:start] + put + seed[end:], start, end


def saying_of(action: Action, rules: Rules) -> RuleEffect:
    # Their names are the words.
    word: Any = type(judge(action, rules, run="r", now=NOW)).__name__.lower()
    return word


def read_damaged(content: bytes, layer: Any = "user") -> Rules | None:
    """The rules of a damaged file; None after checking that the error is clear."""
    try:
        return read_rules([RuleText(layer=layer, origin="f", content=content)], project=PROJECT)
    except UserError as error:
        place = re.match(r"f, line (\d+), column (\d+): .+", error.message, flags=re.DOTALL)
        assert place, error.message
        lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        assert 1 <= int(place[1]) <= len(lines)
        assert 1 <= int(place[2]) <= len(lines[int(place[1]) - 1]) + 1
        return None


@PROPERTY
@given(damage=damaged())
def test_a_damaged_file_is_an_error_or_says_exactly_what_stands_in_it(damage: tuple[bytes, int, int]) -> None:
    content, _, _ = damage
    rules = read_damaged(content)
    if rules is None:
        return
    written = tomllib.loads(content.decode())
    # An independent reading of the same bytes: no rule lost, none added, none saying something else.
    assert [rule.says for rule in rules.rules] == [table["then"] for table in written.get("rule", [])]
    assert len(rules.limits) == len(written.get("limit", []))
    for action in PROBES:
        target = target_of(action, PROJECT)
        assert not isinstance(target, Malformed)
        speaking: list[RuleEffect] = [rule.says for rule in rules.rules if rule.applies(action.kind, target)]
        sayings: list[RuleEffect] = speaking or [default_for(action.kind, target, PROJECT)]
        assert saying_of(action, rules) == max(sayings, key=lambda says: STRICTNESS[says])


@PROPERTY
@given(damage=damaged())
def test_rules_the_damage_did_not_touch_still_hold(damage: tuple[bytes, int, int]) -> None:
    content, start, end = damage
    rules = read_damaged(content)
    if rules is None:
        return
    seed = next(
        seed
        for seed in SEEDS
        if seed.encode()[:start] == content[:start]
        and seed.encode()[end:] == content[len(content) - len(seed.encode()) + end :]
    )
    blocks = re.split(r"(?m)^(?=\[\[)", seed)
    at = 0
    kept = {(rule.says, rule.kinds, rule.conditions, rule.exceptions) for rule in rules.rules}
    for block in blocks:
        size = len(block.encode())
        is_touched = start <= at + size and end >= at
        at += size
        if not is_touched and block.startswith("[[rule]]"):
            (rule,) = rules_of(block).rules
            assert (rule.says, rule.kinds, rule.conditions, rule.exceptions) in kept


@PROPERTY
@given(
    damage=damaged(),
    layer=st.sampled_from(["project", "team", "built-in"]),
    action=st.one_of(st.sampled_from(PROBES), actions()),
)
def test_no_project_or_team_file_however_damaged_loosens_anything(
    damage: tuple[bytes, int, int], layer: Any, action: Action
) -> None:
    more = read_damaged(damage[0], layer)
    if more is None:
        return
    own = rules_of('[[rule]]\naction = "use-network"\nthen = "allow"\nhosts = ["*.example.com"]\n')
    together = Rules(project=PROJECT, rules=own.rules + more.rules)
    assert STRICTNESS[saying_of(action, together)] >= STRICTNESS[saying_of(action, own)]


@PROPERTY
@given(content=st.binary(max_size=200))
def test_any_bytes_are_rules_or_a_clear_error(content: bytes) -> None:
    rules = read_damaged(content)
    assert rules is None or isinstance(rules, Rules)


@PROPERTY
@given(cut=st.integers(0, len(FULL)), action=actions())
def test_a_file_cut_off_anywhere_allows_nothing_the_whole_file_did_not(cut: int, action: Action) -> None:
    # The whole file asks about everything its rules allow not; a torn one falls back on the defaults.
    rules = read_damaged(FULL.encode()[:cut])
    if rules is None:
        return
    verdict = judge(action, rules, run="r", now=NOW)
    if isinstance(verdict, Allow):
        target = target_of(action, PROJECT)
        assert not isinstance(target, Malformed)
        is_default = default_for(action.kind, target, PROJECT) == "allow"
        assert is_default or any(rule.says == "allow" and rule.applies(action.kind, target) for rule in rules.rules)
