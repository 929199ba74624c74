"""A `mo.ui` element that was given a value from outside, while its own cell runs: nothing runs twice."""

from __future__ import annotations

from typing import Any

from marimo._plugins.ui import dropdown
from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.context import get_context


def given(made: Any, value: Any) -> Any:
    """The element, set to `value` as a person would; anything that is no element is replaced by the value."""
    if not isinstance(made, UIElement):
        return value
    running = get_context().execution_context
    assert running is not None
    # As marimo does for the browser: a form may then read the element it holds.
    before, running.setting_element_value = running.setting_element_value, True
    try:
        # A dropdown's frontend sends the chosen key in a list.
        made._update_value([value] if isinstance(made, dropdown) and isinstance(value, str) else value)
    finally:
        running.setting_element_value = before
    return made
