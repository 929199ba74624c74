"""`cellwright notebook publish`. Light: the rest is loaded while a zygote warms up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cellwright.cli import notebook_options as given
from cellwright.cli.notebook_options import NotebookChoice
from cellwright.cli.render import console
from cellwright.errors import UserError
from cellwright.kernel.process.zygote_process import beginning_zygote
from cellwright.settings import Settings


def publish(
    file: given.FileArgument,
    app: Annotated[bool, typer.Option("--app", help="As an app that runs in a browser, without a server.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="A new folder; default: NAME-app beside it.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option("--layout", metavar="vertical|grid|slides", help="Default: the notebook's own.")
    ] = None,
    show_code: Annotated[bool, typer.Option("--show-code", help="Show the code of cells, too.")] = False,
    offline: Annotated[
        Path | None,
        typer.Option("--offline", metavar="MIRROR", help="Take Python along, out of an unpacked full Pyodide."),
    ] = None,
    as_json: given.JsonOption = False,
    tier: given.TierOption = None,
    allow_uncontained: given.UncontainedOption = False,
) -> None:
    """Make a folder of files that is the notebook as a page; refused with the cell named if a page could not run it."""
    if not app:
        raise UserError("Publish it as what?", hint="Say --app: it is the only form so far.")
    options = NotebookChoice(tier=tier, allow_uncontained=allow_uncontained).read()
    with beginning_zygote(Settings.read().cache / "zygote", is_warm=False) as begun:
        import anyio

        from cellwright.app.notebook_page import PageLayout, page_view, publish_page
        from cellwright.app.notebooks import open_pool

        chosen = next((one for one in get_args(PageLayout) if one == layout), None)
        if layout is not None and chosen is None:
            raise UserError(f"Unknown --layout {layout!r}.", hint="vertical, grid or slides.")

        async def published() -> dict[str, Any]:
            settings = Settings.read()
            async with open_pool(settings, begun) as pool:
                page = await publish_page(
                    file, out or file.with_name(f"{file.stem}-app"), pool=pool, settings=settings, layout=chosen,
                    show_code=show_code, mirror_folder=offline, tier=options["tier"],
                    allow_uncontained=allow_uncontained,
                )  # fmt: skip
                return page_view(page)

        view = anyio.run(published)
    console.result(view, as_json, _show_page)
    raise typer.Exit(0 if view["ok"] else 3)


def _show_page(view: Mapping[str, Any]) -> None:
    for one in view["obstacles"]:
        console.line(f"✗ {one['cell'] + ': ' if one['cell'] else ''}{one['text']}", style="red")
        console.line(f"  {one['hint']}", style="cyan")
    if not view["ok"]:
        console.note("Refused: nothing was written.")
        return
    size = view["bytes"] / 1_000_000
    console.line(f"✓ {view['folder']}: {view['files']} files, {size:.0f} MB, {len(view['public'])} of them data")
    python = view["pyodide"]
    origin = f"loaded from {', '.join(view['hosts'])}" if view["offline"] is None else "which lies beside it"
    console.line(f"  It runs on Pyodide {python['version']} (Python {python['python']}), {origin}")
    if view["offline"] is not None:
        console.line("  It asks no other host than the one it is served from.")
    if view["packages"]:
        console.line(f"  with {', '.join(view['packages'])}")
    if view["from_index"]:
        console.line(f"  and, from the package index, {', '.join(view['from_index'])}")
    console.note(f"To look at it: python -m http.server --directory {view['folder']}")
