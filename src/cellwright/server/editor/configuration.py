"""The settings marimo's editor gets: ours alone. No file of the person's or the notebook's is read for them."""

from __future__ import annotations

import importlib
from typing import Any, Final, cast

from marimo._config import manager
from marimo._config.config import MarimoConfig, PartialMarimoConfig
from marimo._config.manager import MarimoConfigManager, UserConfigStore

from cellwright.errors import RefusedByPolicy

OVERRIDES: Final[dict[str, Any]] = {
    "ai": {"enabled": False, "allow_provider_config": False},
    "completion": {"copilot": False},
    "display": {"theme": "system"},
    "runtime": {
        "auto_instantiate": False,
        "auto_reload": "off",
        "on_cell_change": "autorun",
        "reactive_tests": False,
        "dotenv": [],
    },
    # What a person types reaches the file a second later, by our own way of saving.
    "save": {"autosave": "after_delay", "autosave_delay": 1000, "format_on_save": False},
    # Package managers that link files into place are no reason to show no page.
    "server": {"follow_symlink": True},
    "sharing": {"html": False, "wasm": False, "molab": False},
}


class _FixedConfig(UserConfigStore):
    """Where marimo looks for the person's own settings."""

    def read(self) -> PartialMarimoConfig:
        return cast("PartialMarimoConfig", OVERRIDES)

    def save_config(self, config: MarimoConfig | PartialMarimoConfig) -> MarimoConfig:
        raise RefusedByPolicy("The editor's settings cannot be changed here.", hint="See Cellwright's own settings.")


def config_manager(*, current_path: str | None = None) -> MarimoConfigManager:
    """marimo's settings for every notebook that is edited here, wherever it is."""
    return MarimoConfigManager(_FixedConfig())


def load_assets_route() -> None:
    """Import marimo's routes, one of which reads the person's settings as it is imported: it gets ours."""
    stock = manager.get_default_config_manager
    manager.get_default_config_manager = config_manager
    try:
        importlib.import_module("marimo._server.api.endpoints.assets")
    finally:
        manager.get_default_config_manager = stock
