"""`cellwright models list|test|usage|set-key|remove-key|endpoint`: models, what they cost, their keys, who may ask."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, cast, get_args

import anyio
import typer

from cellwright.cli.gateway import is_endpoint_open, open_models, report_view, running_models
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, model_tables
from cellwright.cli.render.remedies import hint_text, problem_text
from cellwright.cli.secret_input import secret_from_person, secret_from_stdin
from cellwright.errors import Unavailable, UserError
from cellwright.models.client.gateway_client import Models
from cellwright.models.config.configuration import configuration_at
from cellwright.models.config.keys import key_remedy, set_key
from cellwright.models.config.names import TIERS, ModelName
from cellwright.models.gateway.openai_access import ADDRESS_FILE, read_address
from cellwright.models.reports import ListedModel, ModelsReport, TestReport, UsageBy, UsageRow
from cellwright.policy.audit import parse_since
from cellwright.secrets import forget_secret
from cellwright.settings import Settings

app = typer.Typer(help="The models agents use, what they cost, and their keys.", no_args_is_help=True)

ProviderArgument = Annotated[str, typer.Argument(metavar="PROVIDER", help="Whose key: openai, anthropic …")]


@app.command("list")
def list_command(as_json: JsonOption = False) -> None:
    """List tiers with their chains, models with their prices, and which of them are ready."""
    console.result(anyio.run(_list), as_json, model_tables.listed)


@app.command()
def test(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A model or a tier; default: every ready model of a chain.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Really ask models something tiny, and find out whether tools and schemas work; exit 1 if one does not answer."""
    found = anyio.run(_test, name)
    console.result({"tests": found}, as_json, lambda _: model_tables.tests(found))
    raise typer.Exit(0 if found and all(one["is_answering"] for one in found) else 1)


@app.command()
def usage(
    by: Annotated[str, typer.Option("--by", metavar="run|model|day|role", help="What to sum by.")] = "model",
    since: Annotated[str | None, typer.Option("--since", metavar="2h|3d|DATE", help="Only what came after.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what was used and paid. A price nobody knows is shown as unknown, never as 0."""
    if by not in get_args(UsageBy):
        raise UserError(f"Usage cannot be summed by {by!r}.", hint="One of: run, model, day, role.")
    after = "" if since is None else parse_since(since, datetime.now(UTC)).astimezone(UTC).isoformat()
    rows = [usage_view(row) for row in anyio.run(_usage, cast("UsageBy", by), after)]
    view = {"by": by, "since": after or None, "rows": rows}
    console.result(view, as_json, lambda _: model_tables.usage(rows, by))


@app.command("set-key", context_settings={"allow_extra_args": True})
def set_key_command(
    context: typer.Context,
    provider: ProviderArgument,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the key from standard input.")] = False,
    file: Annotated[bool, typer.Option("--file", help="Keep it in a file only you can read, not the keyring.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Keep a provider's API key. It is typed without being shown, and never an argument."""
    if context.args:
        # Typer would repeat it in its complaint.
        raise UserError("A key is never an argument: others can read those.", hint="Leave it out; you will be asked.")
    settings = Settings.read()
    known = sorted(configuration_at(settings.home).endpoints)
    if provider not in known:
        raise UserError(
            f"No provider is called {provider!r}.",
            hint=f"Known: {', '.join(known)}. Others are named in models.toml under [endpoints.NAME].",
        )
    value = secret_from_stdin("a key") if stdin else secret_from_person(f"API key of {provider}")
    where = set_key(settings.ready_home(), provider, value, "file" if file else None)
    anyio.run(_notify_gateway, provider)
    note = f"The key of {provider} is kept in the {where}."
    console.result({"provider": provider, "kept_in": where}, as_json, note)


@app.command("remove-key")
def remove_key_command(provider: ProviderArgument, as_json: JsonOption = False) -> None:
    """Forget a provider's API key, wherever it is kept."""
    removed = forget_secret(Settings.read().home, provider)
    anyio.run(_notify_gateway, provider)
    note = f"Removed from the {' and the '.join(removed)}." if removed else f"No key of {provider} was kept."
    console.result({"provider": provider, "removed_from": list(removed)}, as_json, note)


@app.command()
def endpoint(
    token: Annotated[bool, typer.Option("--token", help="Show the token too.")] = False,
    marimo: Annotated[bool, typer.Option("--marimo", help="As lines for marimo.toml, token included.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Open the OpenAI-compatible endpoint for other programs, and say where it is."""
    view = anyio.run(_endpoint, token or marimo)
    console.result(view, as_json, model_tables.marimo_settings if marimo else model_tables.endpoint)


# ── what is shown ──


def model_view(model: ListedModel) -> dict[str, Any]:
    """A model as plain JSON values; a price nobody knows is null."""
    prices = (model.input_price_per_million, model.output_price_per_million)
    return asdict(model) | {
        "needs": _needs(ModelName.parse(model.name).provider) if model.needs else "",
        "input_price_per_million": None if prices[0] is None else f"{prices[0]:f}",
        "output_price_per_million": None if prices[1] is None else f"{prices[1]:f}",
    }


def _needs(provider: str) -> str:
    """What a provider that is not ready lacks, with the command that gives it."""
    return f"a key: {hint_text(key_remedy(provider)).removesuffix('.')}"


def usage_view(row: UsageRow) -> dict[str, Any]:
    """A sum as plain JSON values."""
    return asdict(row) | {"paid": {currency: f"{amount:f}" for currency, amount in sorted(row.paid.items())}}


# ── what each command does ──


async def _list() -> dict[str, Any]:
    async with open_models() as models:
        listed, providers = await models.listed(), await models.providers()
    configuration = configuration_at(Settings.read().home)
    ready = frozenset(provider.name for provider in providers.providers if provider.is_ready)
    return {
        "tiers": {tier: [str(name) for name in configuration.chain(tier, ready)] for tier in TIERS},
        "models": [model_view(model) for model in listed.models],
        "providers": [
            asdict(provider) | {"needs": _needs(provider.name) if provider.needs else ""}
            for provider in providers.providers
        ],
    }


async def _test(name: str | None) -> list[dict[str, Any]]:
    if name is not None and name not in TIERS:
        ModelName.parse(name)
    async with open_models() as models:
        if name == "embed":
            return [report_view(await _test_embedding(models))]
        chosen = [name] if name is not None and name not in TIERS else _to_test(await models.listed(), name)
        if not chosen:
            what = "No model" if name is None else f"No model of {name}"
            raise Unavailable(f"{what} is ready.", hint="`cellwright models list` says what each needs.")
        found: list[dict[str, Any]] = []
        for model in chosen:
            console.note(f"Asking {model} …")
            found.append(report_view(await models.test(model)))
        return found


async def _test_embedding(models: Models) -> TestReport:
    began = time.monotonic()
    try:
        [vector] = await models.embed(["Hello."])
    except Unavailable as error:
        return TestReport(model="embed", is_answering=False, detail=problem_text(error))
    milliseconds = round(1000 * (time.monotonic() - began))
    return TestReport(
        model="embed", is_answering=True, detail=f"It gives {len(vector)} numbers.", milliseconds=milliseconds
    )


def _to_test(report: ModelsReport, tier: str | None) -> list[str]:
    """Ready models of this tier, or of any that chats."""
    wanted = {tier} if tier is not None else set(TIERS) - {"embed"}
    return [model.name for model in report.models if model.is_ready and wanted & set(model.tiers)]


async def _usage(by: UsageBy, since: str) -> tuple[UsageRow, ...]:
    async with open_models() as models:
        return (await models.usage(by=by, since=since)).rows


async def _notify_gateway(provider: str) -> None:
    """A gateway that runs reads its keys anew; one that was handed the old key forgets it."""
    async with running_models() as models:
        if models is not None:
            await models.keys_changed(forget=[provider])


async def _endpoint(is_token_shown: bool) -> dict[str, Any]:
    home = Settings.read().home
    async with open_models() as models:
        opened = await is_endpoint_open(models)
    address = read_address(home)
    if not opened or address is None:
        raise Unavailable("The endpoint could not be opened.", hint=f"{str(home / 'gateway.log')!r} says why.")
    view: dict[str, Any] = {"base_url": address.base_url, "token_file": str(home / ADDRESS_FILE)}
    return view | ({"token": address.token} if is_token_shown else {})
