"""The way from the web door to the model gateway."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from cellwright.models.client import Models
from cellwright.models.launching import Launch
from cellwright.residents import person_here
from cellwright.server.web.house import House


def open_models(house: House) -> AbstractAsyncContextManager[Models]:
    """The models of this person, through their gateway, which is started if need be. Raises `Unavailable`."""
    settings = house.settings
    launch = house.launch or Launch(
        home=settings.ready_home(),
        environment=settings.program_environment,
        connection=settings.connection.variables,
        person=person_here(),
        team_rules=settings.team_rules,
    )
    return Models.open(settings.home, launch=launch)
