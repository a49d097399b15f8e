"""Run one external tool, quietly, with its messages in the error when it fails."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from warpath.errors import ToolError


def attempt(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run and return whatever the outcome; ToolError only when the program cannot be started."""
    try:
        return subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise ToolError(f"cannot run {command[0]}: {error.strerror}") from error


def first_error(output: str) -> str:
    """The line of a compiler's output that says what is wrong, or its first line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line or "fatal" in line), lines[0] if lines else "no message"
    )


def run_tool(command: Sequence[str | Path]) -> str:
    """Run, return stdout; ToolError with the tool's first error line and full output when it fails."""
    result = attempt(command)
    if result.returncode != 0:
        output = result.stderr + result.stdout
        raise ToolError(f"{Path(command[0]).name} failed: {first_error(output)}", output)
    return result.stdout
