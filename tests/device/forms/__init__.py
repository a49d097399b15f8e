"""Form families; each module exports FORMS."""

from __future__ import annotations

from importlib import import_module

from ..form import Form

FAMILIES = (
    "integer", "bits", "compare", "convert", "float32", "float64", "half", "bfloat", "mufu", "warp", "memory",
    "atomic", "tensor", "control", "uniform", "mathlib",
)  # fmt: skip


def forms(family: str) -> list[Form]:
    """The family's forms; names are unique."""
    found: list[Form] = list(import_module(f"{__name__}.{family}").FORMS)
    names = [form.symbol for form in found]
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise ValueError(f"{family}: duplicate form names {sorted(duplicates)}")
    return found
