"""What the documents quote of `warpath explain`, printed anew.

    python -m tests.quote_kit             # which quotes differ from what is printed today
    python -m tests.quote_kit --write     # renew them

A quote is a fenced block whose first line is `$ warpath explain ...` with `--section`. What follows is what the command
prints, up to the ledger's last row: the lines behind it hold host times. Of a program in examples/account it is the row
of the term that the program is named after, and the duration.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from warpath.account.accountant import Accountant
from warpath.account.effects import LABELS
from warpath.cli import explain
from warpath.cli.console import WIDTH
from warpath.cli.execution import execute
from warpath.gpu import spec
from warpath.report import terminal
from warpath.report.model import Report

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "examples" / "account"
GUIDE = ROOT / "docs" / "reading-the-account.md"
DOCUMENTS = (GUIDE, ROOT / "README.md", ROOT / "README.zh-CN.md")

_QUOTE = re.compile(
    r"(?<=^```\n)\$ warpath (explain .*--section.*)\n((?:(?!```).*\n)*)(?=```$)", re.MULTILINE
)
_DURATION = re.compile(r"= +\d+\.\d{3} us duration")
_WRAPPED = " " * 20  # begins a line that continues a row
_AMOUNT = re.compile(r" *[+=-] *\d+\.\d{3} us | *\d+\.\d{3} us floor")


@dataclass(frozen=True, slots=True)
class Quote:
    """A command as a document gives it, and the lines that stand below it."""

    command: str
    text: str

    @property
    def term(self) -> str:
        """The term whose row is quoted; empty when it is the whole ledger, or something else."""
        program = Path(shlex.split(self.command)[1])
        return program.stem if program.parent.name == TERMS.name and "what-if" not in self.command else ""


def quotes(document: Path) -> list[Quote]:
    """All quotes of a document."""
    return [Quote(found[1], found[2]) for found in _QUOTE.finditer(document.read_text())]


def run(command: str) -> tuple[Report, str]:
    """The report of `explain ...` and what is printed of it, as on a pipe, from the project's folder."""
    parser = argparse.ArgumentParser()
    explain.add_arguments(parser)
    args = parser.parse_args(shlex.split(command)[1:])
    args.arguments = []
    sections = tuple(args.section or terminal.SECTIONS)
    gpu = spec.load(args.gpu)
    boards = tuple(spec.load(name) for name in spec.names())
    accountant = Accountant(gpu, what_if="what-if" in sections, boards=boards)
    with contextlib.chdir(ROOT):
        report = execute(args, count=True, hold=True, accountant=accountant)
    out = io.StringIO()
    terminal.render(report, Console(file=out, width=WIDTH, highlight=False, emoji=False), sections)
    return report, out.getvalue()


def printed(quote: Quote, output: str) -> str:
    """What the quote should say, given all that was printed."""
    lines = [line.rstrip() for line in output.splitlines()]
    if not quote.term:
        return "".join(f"{line}\n" for line in _until_duration(lines))
    rows = list(_rows(lines))
    own = [row for row in rows if f" us {LABELS[quote.term]} " in row[0]]
    total = [row for row in rows if _DURATION.search(row[0])]
    return "".join(f"{line}\n" for row in (*own[-1:], *total[-1:]) for line in row)


def _until_duration(lines: list[str]) -> list[str]:
    """Up to the last row of a ledger; all of it when there is none."""
    ends = [i for i, line in enumerate(lines) if _DURATION.search(line)]
    if not ends:
        return lines
    wrapped = next(
        (i for i in range(ends[-1] + 1, len(lines)) if not lines[i].startswith(_WRAPPED)), len(lines)
    )
    return lines[:wrapped]


def _rows(lines: list[str]) -> Iterator[list[str]]:
    """The ledger's rows, each with the lines it was wrapped to."""
    row: list[str] = []
    for line in lines:
        if _AMOUNT.match(line):
            if row:
                yield row
            row = [line]
        elif row and line.startswith(_WRAPPED):
            row.append(line)
        elif row:
            yield row
            row = []
    if row:
        yield row


def main() -> int:
    """Compare or renew all documents; 1 when one differs and was not renewed."""
    parser = argparse.ArgumentParser(description="What the documents quote of `warpath explain`.")
    parser.add_argument("--write", action="store_true", help="renew the quotes")
    write = parser.parse_args().write
    known: dict[str, str] = {}
    differ = 0
    for document in DOCUMENTS:
        text = document.read_text()
        for quote in quotes(document):
            if quote.command not in known:
                known[quote.command] = run(quote.command)[1]
            now = printed(quote, known[quote.command])
            if now == quote.text:
                continue
            differ += 1
            name = os.path.relpath(document, ROOT)
            print(f"{name}: {quote.command}\n{now}", flush=True)
            old = f"$ warpath {quote.command}\n{quote.text}```"
            text = text.replace(old, f"$ warpath {quote.command}\n{now}```")
        if write:
            document.write_text(text)
    return 1 if differ and not write else 0


if __name__ == "__main__":
    sys.exit(main())
