"""Verbs of a low layer whose code lies in a higher one.

``plan.save(...)`` belongs to a plan, which knows nothing of files, and so must not import them. The package,
which knows every layer, says where each verb lives (:data:`hcssp._VERBS`); the code is imported when the
verb is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {}


def bind(homes: Mapping[str, str]) -> None:
    """Say where verbs live: from ``"plan.save"`` to ``"module:function"``."""
    _HOMES.update(homes)


def verb(name: str) -> Callable[..., Any]:
    """The function behind a verb; its first argument is the object it belongs to."""
    module, _, function = _HOMES[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
