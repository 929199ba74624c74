"""One surface: what one interface can do, all can, or `tests/verbs.toml` says why not."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.house.commands import commands
from tests.house.places import ROOT

TABLE = ROOT / "tests/verbs.toml"
INTERFACES = ("cli", "http", "mcp", "acp", "openai", "page")
Names = Mapping[str, frozenset[str]]


def mistakes(table: Mapping[str, Any], existing: Names) -> list[str]:
    """What of the table does not hold, and what there is without a row in it."""
    found, named = list[str](), {interface: list[str]() for interface in existing}
    for verb in table["verb"]:
        for interface in existing:
            names, reason = verb.get(interface, []), _reason(verb, interface, table["reasons"])
            named[interface] += names
            if not names and not reason:
                found.append(f"{verb['says']!r} is not there at {interface}: build it, or say why under `without`.")
    for interface, names in existing.items():
        for name in sorted(set(named[interface]) - names):
            found.append(f"{interface} has no {name!r} any more: take it out of its row.")
        for name in sorted(names - set(named[interface])):
            found.append(f"{interface} has {name!r}: put it into a row, {interface} = [{name!r}].")
    return [f"tests/verbs.toml: {each}" for each in found]


def _reason(verb: Mapping[str, Any], interface: str, reasons: Mapping[str, str]) -> str:
    without: Mapping[str, str] = verb.get("without", {})
    said = without.get(interface, without.get("*", ""))
    # One word stands for a reason that is told once; a sentence stands for itself.
    return said if " " in said else reasons.get(said, "")


def existing() -> Names:
    """What there is, told by the things themselves; ACP once it is there."""
    found = {
        "cli": _commands(),
        "http": _operations(),
        "mcp": _mcp(),
        "openai": _openai(),
        "page": _page_calls(),
    }
    if importlib.util.find_spec("cellwright.server.acp") is not None:
        found["acp"] = _acp()
    return found


def _commands() -> frozenset[str]:
    from cellwright.cli.main import app

    words = (each.words.removeprefix("cellwright").strip() for each in commands(app, "cellwright"))
    return frozenset(each for each in words if each)


def _operations() -> frozenset[str]:
    # That it is what the server says of itself is tests/server/http/test_page_types.py's.
    document = json.loads((ROOT / "web/openapi.json").read_text())
    return frozenset(each["operationId"] for methods in document["paths"].values() for each in methods.values())


def _mcp() -> frozenset[str]:
    from cellwright.server.mcp.resources import TYPES
    from cellwright.server.mcp.tool_texts import TOOLS

    return frozenset([*(each.name for each in TOOLS), *(f"cellwright://runs/{{run}}/{what}" for what in TYPES)])


def _acp() -> frozenset[str]:
    agent = importlib.import_module("cellwright.server.acp.agent").AcpAgent
    return frozenset(agent(host=None, tasks=None).methods)


def _openai() -> frozenset[str]:
    source = (ROOT / "src/cellwright/models/gateway/openai_http.py").read_text()
    routes = re.findall(r'Route\("([^"]+)", \S+, methods=\["([A-Z]+)"\]\)', source)
    return frozenset(f"{method} {path}" for path, method in routes)


def _page_calls() -> frozenset[str]:
    by_call = {_camel(name): name for name in _operations()}
    sources = [path.read_text() for path in (ROOT / "web/src").rglob("*.ts*")]
    called = {each for source in sources for each in re.findall(r"(?<![\w.])calls\.(\w+)\(", source)}
    return frozenset(by_call[each] for each in called & by_call.keys())


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def test_every_verb_is_at_every_interface_or_has_a_reason_not_to_be() -> None:
    assert mistakes(tomllib.loads(TABLE.read_text()), existing()) == []


def test_the_page_asks_by_generated_calls_alone() -> None:
    # Else the table could not see what it asks.
    by_hand = [
        path.name
        for path in (ROOT / "web/src").rglob("*.ts*")
        if re.search(r"(?<![\w.])fetch\(|api/v1|new XMLHttpRequest", path.read_text()) and path.name != "client.ts"
    ]
    assert by_hand == []


GOAL_INTERFACES = ("cli", "http", "mcp", "acp", "page")


def goal_mistakes(
    rows: Sequence[Mapping[str, Any]], fields: set[str], words: Names, reasons: Mapping[str, str]
) -> list[str]:
    """Fields without a row, rows without a field, and gaps and names that are not there at each interface."""
    named = [row["field"] for row in rows]
    found = [f"A goal has {name!r}: say where it is said." for name in sorted(fields - set(named))]
    found += [f"No goal has {name!r} any more." for name in sorted(set(named) - fields)]
    for row in rows:
        for interface in words:
            name = row.get(interface)
            if name is None and not _reason(row, interface, reasons):
                found.append(f"{row['field']!r} cannot be said at {interface}: build it, or say why under `without`.")
            elif name is not None and name not in words[interface]:
                found.append(f"{interface} has no {name!r}, which is to say {row['field']!r}.")
    return found


def goal_words() -> Names:
    """What can be said of a goal, told by the interfaces themselves."""
    from cellwright.cli.main import app
    from cellwright.server.http.schemas.runs import NewRun, ResearchBody
    from cellwright.server.mcp.tool_texts import TOOLS

    tree = {each.words.removeprefix("cellwright").strip(): each.options for each in commands(app, "cellwright")}
    typed = {f"{words} {option}" for words, options in tree.items() for option in options}
    session = (ROOT / "src/cellwright/server/acp/session.py").read_text()
    form = (ROOT / "web/src/pages/run/new-goal.tsx").read_text()
    return {
        "cli": frozenset([*tree, *typed, "run GOAL"]),
        "http": frozenset([*NewRun.model_fields, *(f"research.{name}" for name in ResearchBody.model_fields)]),
        "mcp": frozenset(next(each for each in TOOLS if each.name == "start_run").takes),
        "acp": frozenset(re.findall(r'^ +"(\w+)":', session.partition("body = {")[2].partition("}")[0], re.MULTILINE)),
        # What is always the same there was not said by anybody.
        "page": frozenset(
            name
            for name, value in re.findall(
                r"^ +(\w+)(?:: (.*))?,$",
                form.partition("wanted: NewRun = {")[2].partition("\n      };")[0],
                re.MULTILINE,
            )
            if not re.fullmatch(r'\[\]|\d+|"\w*"', value)
        ),
    }


def test_whatever_a_goal_can_say_is_said_at_every_interface_or_has_a_reason_not_to_be() -> None:
    from cellwright.runs.goal.goal import Goal

    table = tomllib.loads(TABLE.read_text())
    words = goal_words()
    assert tuple(words) == GOAL_INTERFACES
    assert goal_mistakes(table["goal"], set(Goal.__dataclass_fields__), words, table["reasons"]) == []


def test_what_a_goal_can_say_and_only_some_interfaces_have_is_told() -> None:
    words = {"cli": frozenset({"run --loud"}), "page": frozenset({"quiet"})}
    rows = [{"field": "loud", "cli": "run --loud"}, {"field": "gone", "cli": "run --gone", "page": "quiet"}]
    assert goal_mistakes(rows, {"loud", "new"}, words, {}) == [
        "A goal has 'new': say where it is said.",
        "No goal has 'gone' any more.",
        "'loud' cannot be said at page: build it, or say why under `without`.",
        "cli has no 'run --gone', which is to say 'gone'.",
    ]


ROW = {"says": "Sing", "cli": ["sing"], "http": ["sing"]}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([ROW], []),
        ([ROW | {"http": []}], ["'Sing' is not there at http: build it, or say why under `without`.",
                                "http has 'sing': put it into a row, http = ['sing']."]),
        ([ROW | {"http": ["sing", "hum"]}], ["http has no 'hum' any more: take it out of its row."]),
    ],
)  # fmt: skip
def test_a_gap_a_new_name_and_one_that_is_gone_are_told(rows: list[Any], told: list[str]) -> None:
    table = {"reasons": {"shy": "It is shy."}, "verb": rows}
    existing = {"cli": frozenset({"sing"}), "http": frozenset({"sing"})}
    assert mistakes(table, existing) == [f"tests/verbs.toml: {each}" for each in told]


@pytest.mark.parametrize(("reason", "counts"), [("shy", True), ("Nobody listens.", True), ("unknown", False)])
def test_a_reason_is_a_known_word_or_a_sentence(reason: str, counts: bool) -> None:
    row = {"says": "Sing", "cli": ["sing"], "without": {"*": reason}}
    table = {"reasons": {"shy": "It is shy."}, "verb": [row]}
    assert (mistakes(table, {"cli": frozenset({"sing"}), "http": frozenset()}) == []) is counts
