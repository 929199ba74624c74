"""How this terminal starts the gateway. Light: keys are handed over before anything else is loaded."""

from __future__ import annotations

import sys

from cellwright.background import current_person
from cellwright.cli.render import console
from cellwright.models.client.gateway_process import GatewayLaunch, hand_over_keys
from cellwright.models.config.keys import key_variables
from cellwright.settings import Settings, forget_variables


def launch_here(settings: Settings, *, idle_seconds: float = 300) -> GatewayLaunch:
    """A gateway for the person at this terminal."""
    return GatewayLaunch(
        home=settings.ready_home(),
        environment=settings.program_environment,
        connection=settings.connection.variables,
        idle_seconds=idle_seconds,
        person=current_person(),
        team_rules=settings.team_rules,
    )


def hand_over_own_keys() -> None:
    """A key in our environment goes to the gateway, and this process begins again without it."""
    settings = Settings.read()
    if not (found := key_variables(settings.environment)):
        return
    launch = launch_here(settings)
    hand_over_keys(settings.environment, launch.home, sys.orig_argv, warn=console.note, launch=launch)
    # Still here: it began again before, and something put a key back.
    forget_variables(found)
