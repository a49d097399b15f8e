"""Suppressions: a file whose lines each name findings that are known and accepted.

Each line is `KIND` and, optionally, `FILE:LINE` or a word of the kernel's name. `*` stands for every kind; `#` starts
a comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from warpath.errors import UsageError
from warpath.report.model import Fault


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a suppression file."""

    kind: str
    place: str

    def covers(self, finding: Fault) -> bool:
        """Whether the finding is of this kind and at this place."""
        if not (fnmatch(finding.kind, self.kind) or self.kind == finding.tool):
            return False
        if not self.place:
            return True
        at = f"{finding.file.rsplit('/', 1)[-1]}:{finding.line}"
        return self.place in (at, finding.file.rsplit("/", 1)[-1]) or self.place in finding.kernel


def read(path: Path) -> list[Rule]:
    """The rules of a file; UsageError when it cannot be read or a line has more than two words."""
    try:
        text = path.read_text()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    rules: list[Rule] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split(maxsplit=1)
        if not words:
            continue
        rules.append(Rule(words[0], words[1].strip() if len(words) == 2 else ""))
        if len(words) == 2 and "\t" in words[1].strip():
            raise UsageError(f"{path}:{number}: expected KIND [FILE:LINE or kernel]")
    return rules


def split(findings: Sequence[Fault], rules: Sequence[Rule]) -> tuple[list[Fault], int]:
    """(findings that no rule covers, how many were covered)."""
    kept = [finding for finding in findings if not any(rule.covers(finding) for rule in rules)]
    return kept, len(findings) - len(kept)
