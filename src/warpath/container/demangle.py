"""C++ names as NVIDIA's profilers print them: `vadd(const float *, const float *, float *, int)`.

libstdc++'s demangler does the work; its text (`float const*`) is then rearranged. Without it names stay
mangled.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any

_OPEN, _CLOSE = "<({[", ">)}]"


@cache
def _library() -> Any:
    """libstdc++ with `__cxa_demangle` declared, or None."""
    for name in ("libstdc++.so.6", ctypes.util.find_library("stdc++"), "libc++abi.so.1"):
        try:
            library = ctypes.CDLL(name) if name else None
            function: Any = library.__cxa_demangle if library else None
        except (OSError, AttributeError):
            continue
        if function is not None:
            function.restype = ctypes.c_void_p
            function.argtypes = [
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_void_p,
                ctypes.POINTER(ctypes.c_int),
            ]
            return function
    return None


@cache
def demangle(name: str) -> str:
    """The readable form of a mangled name; `name` itself when it is none or no demangler is at hand."""
    function = _library()
    if function is None or not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    pointer = function(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not pointer:
        return name
    text = ctypes.string_at(pointer).decode()
    libc: Any = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(pointer)
    return nvidia_style(text)


def nvidia_style(text: str) -> str:
    """Rearrange a demangled function: qualifiers in front, a blank before `*` and `&`, no blank in `>>`."""
    text = text.replace("> >", ">>").replace("> >", ">>")
    close = text.rfind(")")
    if close < 0:
        return _inside(text)
    opening = _matching_open(text, close)
    arguments = text[opening + 1 : close]
    return f"{_inside(text[:opening])}({_list(arguments)}){text[close + 1 :]}"


def _matching_open(text: str, close: int) -> int:
    """Index of the bracket that the one at `close` ends."""
    depth = 0
    for at in range(close, -1, -1):
        depth += (text[at] in _CLOSE) - (text[at] in _OPEN)
        if depth == 0:
            return at
    return 0


def _list(text: str) -> str:
    """Rearrange each type of a comma-separated list."""
    parts: list[str] = []
    depth = start = 0
    for at, character in enumerate(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return ", ".join(_type(part.strip()) for part in parts)


def _inside(name: str) -> str:
    """Rearrange the template arguments inside a name."""
    out: list[str] = []
    at = 0
    while at < len(name):
        end = _closing(name, at) if name[at] == "<" else -1
        if end > at + 1:
            out.append(f"<{_list(name[at + 1 : end])}>")
            at = end + 1
        else:
            out.append(name[at])
            at += 1
    return "".join(out)


def _closing(text: str, opening: int) -> int:
    """Index of the bracket that ends the one at `opening`, or -1."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in _OPEN) - (text[at] in _CLOSE)
        if depth == 0:
            return at
    return -1


def _type(text: str) -> str:
    """`float const* const*` becomes `const float *const *`, `int const (&) [3]` `const int (&)[3]`."""
    start = _declarator(text)
    base, declarator = text[:start].rstrip(), text[start:].strip()
    qualifiers: list[str] = []
    while base.endswith((" const", " volatile")):
        base, _, qualifier = base.rpartition(" ")
        qualifiers.insert(0, qualifier)
    words = [*qualifiers, _inside(base)]
    if declarator:
        for qualifier in ("const", "volatile"):
            declarator = declarator.replace(f"* {qualifier}", f"*{qualifier} ").replace(
                f"{qualifier} )", f"{qualifier})"
            )
        words.append(_groups(declarator.replace(") [", ")[").replace("* (", "*(").strip()))
    return " ".join(words)


def _declarator(text: str) -> int:
    """Where the base type ends: at the first `*`, `&`, or bracket after a blank, outside brackets."""
    depth = 0
    for at, character in enumerate(text):
        if depth == 0 and (character in "*&" or (character in "([" and text[at - 1 : at] == " ")):
            return at
        depth += (character in _OPEN) - (character in _CLOSE)
    return len(text)


def _groups(declarator: str) -> str:
    """Rearrange the parameter lists of function pointers, the groups that do not start with `*` or `&`."""
    out: list[str] = []
    at = 0
    while at < len(declarator):
        end = _closing(declarator, at) if declarator[at] == "(" else -1
        if end > at + 1 and declarator[at + 1] not in "*&":
            out.append(f"({_list(declarator[at + 1 : end])})")
            at = end + 1
        else:
            out.append(declarator[at])
            at += 1
    return "".join(out)
