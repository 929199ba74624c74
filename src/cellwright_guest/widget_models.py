"""The widgets that are alive, as an editor that joins later has to be told of them.

marimo says once that a widget was made, and nothing keeps its state in that form: without this, a widget of a cell
that ran unwatched would never show.
"""

from __future__ import annotations

from typing import Any

from marimo._messaging.notification import ModelClose, ModelLifecycleNotification, ModelOpen, ModelUpdate

_open: dict[Any, ModelOpen] = {}
"""By marimo's id of the widget, which is a text."""


def remember(notification: ModelLifecycleNotification) -> None:
    """Take in what happened to a widget; messages that change no state are passed over."""
    model, message = notification.model_id, notification.message
    if isinstance(message, ModelOpen):
        _open[model] = message
    elif isinstance(message, ModelUpdate) and model in _open:
        _open[model] = _updated(_open[model], message)
    elif isinstance(message, ModelClose):
        _open.pop(model, None)


def alive() -> list[ModelLifecycleNotification]:
    """Every widget that was made and not closed, in its present state."""
    return [ModelLifecycleNotification(model_id=model, message=message) for model, message in _open.items()]


def _updated(before: ModelOpen, update: ModelUpdate) -> ModelOpen:
    kept = [
        (path, buffer)
        for path, buffer in zip(before.buffer_paths, before.buffers, strict=False)
        if path and path[0] not in update.state
    ]
    buffers = [*kept, *zip(update.buffer_paths, update.buffers, strict=False)]
    return ModelOpen(
        state=before.state | update.state,
        buffer_paths=[path for path, _ in buffers],
        buffers=[buffer for _, buffer in buffers],
        esm_spec=update.esm_spec or before.esm_spec,
    )
