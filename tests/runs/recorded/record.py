"""Record the run anew: `python -m tests.runs.recorded.record [PROVIDER:MODEL]`, from the repository.

Without a model a script answers, over the real wire. With one it is really asked, with the key in your environment, and
paid. Both files beside this one are written; look at them before you keep them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import anyio

from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.keys import key_variables
from cellwright.runs.deliver.delivery import parse_delivery
from cellwright.settings import Settings
from cellwright.testing import Answer, ProviderServer
from tests.runs.factory import apply, at_once, create, finish, plan, task
from tests.runs.recorded.retold import recorded
from tests.runs.recorded.retold_runs import NOTEBOOK, NOWHERE, RUN, TALK, goal_in, lay_out, open_retold_runs

_MONTHLY = 'monthly = sales.groupby("month")["amount"].sum()'
SCRIPT: tuple[Answer, ...] = (
    plan(
        task("load"),
        task("compare", after=["load"], checks=[{"test": "test_months", "says": "July has 35 EUR more than August."}]),
        title="Sales of July and August",
        assumptions=["Amounts are in EUR."],
    ),
    apply(create('sales = pd.read_csv("sales.csv")\nsales', "sales")),
    finish("4 rows"),
    apply(create(f"{_MONTHLY}\nmonthly.round(digits)", "monthly")),
    apply({"op": "edit", "cell": "monthly", "base_version": 1, "code": f"{_MONTHLY}\nmonthly"}),
    at_once(
        apply(
            create('more = int(monthly["2025-07"] - monthly["2025-08"])\nmore', "difference"),
            create("def test_months():\n    assert more == 35", "check_months"),
            create('mo.md(f"# Sales of July and August\\n\\nJuly had {more} EUR more.")', "answer"),
        ),
        finish("July 2025 had more sales: 200 EUR against 165 EUR in August, 35 EUR more."),
    ),
)


async def record(model: str | None) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home, project = folder / "home", folder / "project"
        home.mkdir(mode=0o700)
        project.mkdir()
        lay_out(project)
        settings = replace(Settings.read(), home=home, cache=folder / "cache")
        keys: dict[str, str] = {}
        if model is None:
            server = stack.enter_context(ProviderServer.running())
            server.script(*SCRIPT)
            (home / "models.toml").write_text(NOWHERE.format(base_url=server.base_url("openai-chat")))
        else:
            known = key_variables(os.environ)
            keys = {provider: os.environ[name] for name, provider in known.items() if os.environ[name]}
        launch = GatewayLaunch(home=home, environment=settings.environment, keys=keys, person="ada")
        async with open_retold_runs(settings, launch, lambda models: recorded(models, TALK)) as runs:
            await runs.start(goal_in(project, [model or "near:one"]), run=RUN)
            delivery = parse_delivery(await runs.result(RUN))
        async with Models.open(home, launch=launch) as models:
            await models.stop_gateway()
        NOTEBOOK.write_text((project / "sales.py").read_text())
        TALK.chmod(0o644)
        sys.stderr.write(f"{delivery.status}: {delivery.answer} {delivery.why}\n")


if __name__ == "__main__":
    anyio.run(record, sys.argv[1] if len(sys.argv) > 1 else None)
