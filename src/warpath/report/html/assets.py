"""What is inlined into the page: style, scripts, plotly.js packed, and data as JSON that cannot end a script."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from markupsafe import Markup

_SCRIPTS = ("tabs.js", "code.js", "sectors.js", "plots.js", "launches.js")  # the last uses the others


def style() -> Markup:
    """The style sheet."""
    return Markup(_template("style.css"))


def script() -> Markup:
    """Our own scripts, joined."""
    return Markup("\n".join(_template(name) for name in _SCRIPTS))


@cache
def plotly() -> str:
    """plotly.js, gzip in base64: 2 MB instead of 5. It is unpacked when the first plot comes into view."""
    source = resources.files("plotly") / "package_data" / "plotly.min.js"
    return base64.b64encode(gzip.compress(source.read_bytes(), 9, mtime=0)).decode()


def embedded(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: no `<` in it, so no text of the program can close the element."""
    return Markup(msgspec.json.encode(value).decode().replace("<", "\\u003c"))


def _template(name: str) -> str:
    return (resources.files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")
