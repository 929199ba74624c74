"""`spans`: with tracing off, the hooks around every cell run without a span around each of them.

marimo decorates each hook with a tracer's context manager, also when the tracer is a dummy: a generator per call,
eighteen calls per cell. With real tracing switched on, nothing is exchanged.
"""

from __future__ import annotations

import inspect
from types import ModuleType

from marimo import _tracer
from marimo._runtime.runner import hooks_on_finish, hooks_post_execution, hooks_pre_execution, hooks_preparation

from cellwright_guest.patches.swap import Swap, fingerprint_of


def _spanned(module: ModuleType) -> tuple[Swap, ...]:
    # Dropping a dummy span is safe whatever the body is, so the body's own fingerprint is taken as found.
    return tuple(
        Swap(owner=module, name=name, fingerprint=fingerprint_of(value), ours=inspect.unwrap(value))
        for name, value in list(vars(module).items())
        if inspect.isfunction(value) and value.__module__ == module.__name__ and hasattr(value, "__wrapped__")
    )


SWAPS = (
    tuple(
        swap
        for module in (hooks_preparation, hooks_pre_execution, hooks_post_execution, hooks_on_finish)
        for swap in _spanned(module)
    )
    if isinstance(_tracer.kernel_tracer, _tracer.MockTracer)
    else ()
)
