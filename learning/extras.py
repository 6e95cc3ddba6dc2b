"""Optional extras: work that needs one is refused before it begins."""

from __future__ import annotations

from importlib.util import find_spec

from learning.errors import InputError


def check_extra(key: str, extra: str, *modules: str) -> None:
    """Refuse, by an InputError, the work ``key`` whose extra lacks one of its modules here."""
    lacking = [module for module in modules if find_spec(module) is None]
    if lacking:
        remedy = f'Install it, in the checkout: pip install ".[{extra}]".'
        raise InputError(key, f"needs the extra {extra}", f"no {lacking[0]}", remedy)
