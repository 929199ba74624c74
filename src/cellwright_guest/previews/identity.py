"""What a value really is, asked without running any of its code.

`isinstance` believes a `__class__` property and `type(x).__module__` runs a metaclass; the slots of `type` do not.
A library's class is found through `sys.modules`: a library that is not loaded has no values here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

_mro_of: Final[Any] = type.__dict__["__mro__"].__get__
_name_of: Final[Any] = type.__dict__["__qualname__"].__get__
_module_of: Final[Any] = type.__dict__["__module__"].__get__
_attributes_of: Final[Any] = type.__dict__["__dict__"].__get__

_HIDDEN_MODULES: Final = frozenset({"builtins", "__main__", "__mp_main__"})
_NAME_LENGTH: Final = 120


def ancestry(kind: type) -> tuple[type, ...]:
    """The class and its bases, most derived first."""
    return _mro_of(kind)


def class_attribute(kind: type, name: str) -> Any:
    """What the class or a base holds under `name`, unbound; None when nothing."""
    for base in _mro_of(kind):
        attributes = _attributes_of(base)
        if name in attributes:
            return attributes[name]
    return None


def module_of(kind: type) -> str:
    """Where the class says it was defined; empty when it says nothing usable."""
    try:
        module = _module_of(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def qualified_name(kind: type) -> str:
    """`pandas.DataFrame`, `dict`, or `Point` for a class defined in a cell."""
    name = str.__str__(_name_of(kind)).replace("<locals>.", "")
    module = module_of(kind)
    if module in _HIDDEN_MODULES or not module:
        return name[:_NAME_LENGTH]
    # pandas.core.frame.DataFrame is known to people as pandas.DataFrame, if that is the same class.
    package = module.partition(".")[0]
    if package != module and loaded(package, name) is kind:
        module = package
    return f"{module}.{name}"[:_NAME_LENGTH]


def loaded(module: str, name: str) -> Any:
    """The object `name` of a module somebody else imported, else None."""
    found = sys.modules.get(module)
    return found.__dict__.get(name) if type(found) is ModuleType else None


def packages_of(kind: type) -> set[str]:
    """Top-level packages of the class and all its bases: a cheap first question."""
    return {module_of(base).partition(".")[0] for base in _mro_of(kind)}


def is_kind(kind: type, module: str, name: str) -> bool:
    """Whether the class is, or derives from, a library's class."""
    target = loaded(module, name)
    return target is not None and any(base is target for base in _mro_of(kind))


def instance_attributes(value: object) -> dict[str, Any]:
    """The instance's own `__dict__`; empty when it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}
