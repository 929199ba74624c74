"""How models, prices, sums and the gateway look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from cellwright.cli.render.console import line, people, results, table

_NUMBERS = ("ms", "calls", "tokens in", "of them cached", "tokens out")


def listed(view: Mapping[str, Any]) -> None:
    """Chains, then models, then what is missing."""
    models = {model["name"]: model for model in view["models"]}
    for tier, chain in view["tiers"].items():
        row = Text(f"{tier:<6}", style="bold")
        for number, name in enumerate(chain):
            is_ready = name in models and models[name]["is_ready"]
            row.append(" → " if number else " ", style="dim not bold")
            row.append(name, style="not bold" if is_ready else "dim not bold")
        results.print(row, soft_wrap=True)
    results.print()
    models_table = table("", "model", "per million tokens in / out", "can", whole=("model",))
    for model in view["models"]:
        can = ", ".join([*([] if model["health"] == "closed" else ["failing now"]), *model["abilities"]])
        cells = (model["name"], "runs here" if model["is_local"] else _price(model), can)
        models_table.add_row(_mark(model["is_ready"]), *map(Text, cells))
    results.print(models_table)
    for provider in view["providers"]:
        if not provider["is_ready"]:
            line(f"✗ {provider['name']} needs {provider['needs']}")


def tests(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per model that was asked."""
    tests_table = table("", "model", "ms", "tools", "schema", "", right=_NUMBERS, whole=("model",))
    for test in found:
        cells = [test["model"], str(test["milliseconds"]), _whether(test["tools"]), _whether(test["schema"])]
        tests_table.add_row(_mark(test["is_answering"]), *map(Text, [*cells, test["detail"]]))
    results.print(tests_table)


def usage(rows: Sequence[Mapping[str, Any]], by: str) -> None:
    """One line per sum."""
    if not rows:
        people.print("Nothing was used.", style="dim")
        return
    sums = table(by, "calls", "tokens in", "of them cached", "tokens out", "paid", right=_NUMBERS, whole=("model",))
    for row in rows:
        numbers = (row["calls"], row["input_tokens"], row["cache_read_tokens"], row["output_tokens"])
        sums.add_row(Text(row["what"] or "–"), *(Text(f"{number:,}") for number in numbers), Text(_paid(row)))
    results.print(sums)


def endpoint(view: Mapping[str, Any]) -> None:
    """Where it is, and where its token is."""
    line(f"base URL    {view['base_url']}")
    line(f"token file  {view['token_file']}")
    if "token" in view:
        line(f"token       {view['token']}")
    people.print("It is there while the gateway runs: `cellwright gateway start --stay`.", style="dim")


def marimo_settings(view: Mapping[str, Any]) -> None:
    """Lines for marimo.toml. A TOML basic string is written as a JSON one."""
    lines = [
        "[ai.models]",
        'chat_model = "cellwright/smart"',
        'edit_model = "cellwright/smart"',
        'custom_models = ["cellwright/smart", "cellwright/fast", "cellwright/code"]',
        "",
        "[ai.custom_providers.cellwright]",
        f"base_url = {json.dumps(view['base_url'])}",
        f"api_key = {json.dumps(view['token'])}",
    ]
    line("\n".join(lines))


def gateway(view: Mapping[str, Any]) -> None:
    """What the gateway does."""
    if not view["running"]:
        results.print("No gateway runs; it is started when it is needed.")
        return
    line(f"gateway {view['version']}, process {view['pid']}, since {view['started_at']}")
    doing = f"{view['calls_in_flight']} calls in flight, {view['connections']} connections"
    line(f"{doing}; ends after {view['idle_seconds']:g} s without either")
    if view["endpoint"]:
        line(f"endpoint {view['endpoint']['base_url']}")


def _price(model: Mapping[str, Any]) -> str:
    prices = (model["input_price_per_million"], model["output_price_per_million"])
    return "unknown" if None in prices else f"{prices[0]} / {prices[1]} {model['currency']}"


def _paid(row: Mapping[str, Any]) -> str:
    parts = [f"{amount} {currency}" for currency, amount in row["paid"].items()]
    if row["unpriced_calls"]:
        parts.append(f"unknown for {row['unpriced_calls']} calls")
    if row["unknown_calls"]:
        parts.append(f"{row['unknown_calls']} sent, answer unknown")
    return " + ".join(parts) or "0"


def _mark(is_good: bool) -> Text:
    return Text("✓", style="green") if is_good else Text("✗", style="yellow")


def _whether(answer: bool | None) -> str:
    return "–" if answer is None else "yes" if answer else "no"
