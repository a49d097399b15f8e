"""The points of a sweep: what `--set` says, and the command each combination of values becomes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from warpath import __version__
from warpath.errors import UsageError

MOST_POINTS = 10_000
GPU = "gpu"  # the axis of boards
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = r"-?\d+(?:\^\d+)?"
_RANGE = re.compile(rf"({_NUMBER})(?:\.\.({_NUMBER})(?:([+*])({_NUMBER}))?)?")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Axis:
    """One swept parameter and its values, as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """What all points share: words of `warpath explain`, nvcc's options, the program's arguments, with `{NAME}`s.

    `files` are the program and its further sources, `folder` is where they are run. `common` and `limits` take no
    `{NAME}`; `limits` change nothing about a report of a point that finishes.
    """

    files: tuple[Path, ...]
    common: tuple[str, ...]
    limits: tuple[str, ...]
    nvcc: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str

    def places(self) -> list[str]:
        """The names that stand in braces, in order."""
        words = " ".join((*self.nvcc, *self.arguments))
        return list(dict.fromkeys(_PLACE.findall(words)))


@dataclass(frozen=True, slots=True)
class Point:
    """One combination: its values by name, the words for `warpath explain`, and the key its report is kept under."""

    settings: dict[str, str]
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str
    key: str

    @property
    def title(self) -> str:
        """`gpu=h200 N=1024`."""
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


def parse_axis(text: str) -> Axis:
    """`N=1,2,4`, `N=16..64+16` or `N=2^16..2^24*4`; UsageError when it is none of these."""
    name, found, values = text.partition("=")
    if not found or not _NAME.fullmatch(name):
        raise UsageError(f"--set {text}: it takes NAME=VALUE,VALUE,... where NAME is a macro or {{NAME}}")
    if name == GPU:
        raise UsageError(f"--set {text}: boards are swept with --gpu {values}")
    listed: dict[str, None] = {}
    for item in values.split(","):
        if not item.strip():
            raise UsageError(f"--set {text}: a value is missing")
        listed.update(dict.fromkeys(_values(item.strip(), text)))
    return Axis(name, tuple(listed))


def _values(item: str, text: str) -> list[str]:
    """One item of the list: a range or a power becomes its numbers, anything else stands for itself."""
    match = _RANGE.fullmatch(item)
    if match is None:
        return [item]
    first = _number(match[1])
    last = first if match[2] is None else _number(match[2])
    sign, step = match[3] or "+", _number(match[4] or "1")
    if match[2] is None:
        return [str(first) if "^" in item else item]
    if last < first or step < (2 if sign == "*" else 1) or (sign == "*" and first < 1):
        raise UsageError(f"--set {text}: {item} does not count up")
    count = (last - first) // step if sign == "+" else math.log(last / first, step)
    if count > MOST_POINTS:
        raise UsageError(f"--set {text}: {item} is more than {MOST_POINTS} values")
    found = [first]
    while (value := found[-1] + step if sign == "+" else found[-1] * step) <= last:
        found.append(value)
    return [str(value) for value in found]


def _number(text: str) -> int:
    base, _, exponent = text.partition("^")
    if len(base) > 18 or len(exponent) > 2:
        raise UsageError(f"{text} is too large a number")
    return int(base) ** int(exponent or "1")


def points(axes: Sequence[Axis], template: Template, boards: Mapping[str, str]) -> list[Point]:
    """Every combination, the last axis running fastest. `boards` holds a digest of each board's data.

    A name that stands in braces in the program's arguments or nvcc's options is put there; any other is a macro.
    """
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"--set gives {twice} twice: list all its values in one")
    places = template.places()
    unknown = next((name for name in places if name not in names and name != GPU), None)
    if unknown:
        raise UsageError(f"{{{unknown}}} has no value: no --set names it")
    count = math.prod(len(axis.values) for axis in axes) * len(boards)
    if count > MOST_POINTS:
        raise UsageError(f"that is {count} points; {MOST_POINTS} is the most")
    contents = [_digest(path) for path in template.files]
    every = [Axis(GPU, tuple(boards)), *axes]
    return [
        _point(dict(zip([GPU, *names], values, strict=True)), template, boards, contents)
        for values in product(*(axis.values for axis in every))
    ]


def _point(
    settings: dict[str, str], template: Template, boards: Mapping[str, str], contents: list[str]
) -> Point:
    places = template.places()
    macros = [f"-D{name}={value}" for name, value in settings.items() if name not in places and name != GPU]
    nvcc = [f"--nvcc={_filled(word, settings)}" for word in template.nvcc]
    program, *others = (str(path) for path in template.files)
    sources = [f"--with={path}" for path in others]
    options = (program, *sources, "--gpu", settings[GPU], *macros, *nvcc, *template.common)
    arguments = tuple(_filled(word, settings) for word in template.arguments)
    identity = [__version__, boards[settings[GPU]], contents, options, arguments]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:20]
    return Point(settings, (*options, *template.limits), arguments, template.folder, key)


def _filled(word: str, settings: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: settings[match[1]], word)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
