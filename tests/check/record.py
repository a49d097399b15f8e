"""Run on a machine with a GPU: the planted programs under compute-sanitizer, its findings written as JSON.

    python tests/check/record.py OUT.json

Cases that can hang are never run. Needs nvcc and compute-sanitizer on the PATH; imports nothing of warpath.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PLANTED = Path(__file__).parent / "planted"
NVCC = ["nvcc", "-std=c++17", "-lineinfo", "-arch=sm_90"]
LIMIT = 25  # seconds a run
FATAL = [("shared", w) for w in ("1", "2", "4", "8", "16")] + [
    ("misaligned", w) for w in ("2", "4", "8", "16")
]
FATAL += [(kind, "0") for kind in ("host", "null", "far", "local", "trap", "double_free", "invalid_free")]
RUNS = [
    ("memory", "memcheck", []),
    ("heap", "memcheck", []),
    ("races", "racecheck", []),
    ("races", "memcheck", []),
    ("sync_init", "initcheck", ["barriers"]),
    ("sync_init", "synccheck", ["barriers"]),
    ("early", "synccheck", []),
    ("host", "memcheck", []),
    *(("fatal", "memcheck", [kind, width]) for kind, width in FATAL),
]
OPTIONS = {"memcheck": ["--destroy-on-device-error", "kernel", "--leak-check", "full"]}
_TITLE = re.compile(
    r"^=+ (?:Error: |Warning: )?(Invalid|Uninitialized|Race|Barrier|Leaked|Program hit|Unused|Potential)"
)


def sanitize(program: Path, tool: str, arguments: list[str]) -> dict[str, object]:
    """One run: exit code, the text, and errors by (title, kernel)."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "20000", *OPTIONS.get(tool, [])]
    try:
        done = subprocess.run(
            [*command, str(program), *arguments], capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"program": program.name, "tool": tool, "arguments": arguments, "timeout": True}
    lines = (done.stdout + done.stderr).splitlines()
    found: Counter[str] = Counter()
    sample: list[str] = []
    for number, line in enumerate(lines):
        if _TITLE.match(line):
            nearby = "\n".join(lines[number : number + 3])
            at = re.search(r"at (?:void )?(\w+(?:<[^>]*>)?)\(", nearby)
            key = re.sub(r"0x[0-9a-f]+|\d+ hazards?", "N", line.strip("= ")).split(" between ")[0]
            key = f"{key[:60]} | {at.group(1) if at else '-'}"
            if not found[key]:
                sample += lines[number : number + 5]
            found[key] += 1
    return {
        "program": program.name,
        "tool": tool,
        "arguments": arguments,
        "exit": done.returncode,
        "errors": dict(sorted(found.items())),
        "summary": [line for line in lines if "SUMMARY" in line],
        "sample": sample[:400],
        "tail": lines[-6:],
    }


def main() -> int:
    """Build, run, write."""
    with tempfile.TemporaryDirectory() as folder:
        names = sorted({name for name, _, _ in RUNS})
        builds = {
            name: subprocess.Popen(
                [
                    "nvcc",
                    "-std=c++17",
                    "-lineinfo",
                    "-arch=sm_90",
                    str(PLANTED / f"{name}.cu"),
                    "-o",
                    f"{folder}/{name}",
                ]
            )
            for name in names
        }
        for build in builds.values():
            build.wait()
        results = [sanitize(Path(folder) / name, tool, arguments) for name, tool, arguments in RUNS]
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    Path(sys.argv[1]).write_text(json.dumps({"version": version.strip(), "runs": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
