"""Run on a machine with a GPU: the planted programs under compute-sanitizer, its findings written as JSON; and
programs with errors that few see, by themselves: what each of their calls returned.

    python tests/check/record.py OUT.json

Cases that can hang are never run. Needs nvcc and compute-sanitizer on the PATH; imports nothing of warpath.
"""

from __future__ import annotations

import json
import re
import struct
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


GLOBAL_ONLY = ["atom", "cas", "red", "load", "nc_load", "store"]  # the first letter is the kernel's
ERRORS = [
    *((kind, number) for kind in ("atomic", "reduction") for number in ("1", "9")),
    *((f"global_{name}", shared) for name in GLOBAL_ONLY for shared in ("0", "1")),
    *(("recursion", depth) for depth in ("2", "1000", "100000")),
    ("function", "0"),
    ("function", "1"),
    ("module", "broken"),
    ("module", "healthy"),
]
NO_INSTRUCTION = 0xFFF  # bits 11:0 of an instruction are its opcode


def section(image: bytes, name: str) -> int:
    """File offset of a section of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    text = headers[names][4]
    return next(h[4] for h in headers if image[text + h[0] :].split(b"\0", 1)[0] == name.encode())


def cubin(folder: Path, kind: str) -> Path:
    """A cubin whose kernel `broken` begins with bytes that are no instruction, or is as it should be."""
    source, out = folder / "broken.cu", folder / f"{kind}.cubin"
    source.write_text('extern "C" __global__ void broken(int* p) { p[threadIdx.x] += 1; }\n')
    subprocess.run(["nvcc", "-cubin", "-arch=sm_90", source, "-o", out], check=True)
    image = bytearray(out.read_bytes())
    if kind == "broken":
        at = section(bytes(image), ".text.broken")
        first = int.from_bytes(image[at : at + 2], "little") | NO_INSTRUCTION
        image[at : at + 2] = first.to_bytes(2, "little")
        out.write_bytes(image)
    return out


def errors(folder: Path) -> list[dict[str, object]]:
    """What the calls of `errors.cu` return on this machine."""
    program = folder / "errors"
    subprocess.run([*NVCC, PLANTED / "errors.cu", "-lcuda", "-o", program], check=True)
    found: list[dict[str, object]] = []
    for kind, argument in ERRORS:
        given = str(cubin(folder, argument)) if kind == "module" else argument
        done = subprocess.run([program, kind, given], capture_output=True, text=True, timeout=LIMIT)
        found.append({"arguments": [kind, argument], "exit": done.returncode, "stdout": done.stdout})
    return found


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
        native = errors(Path(folder))
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    Path(sys.argv[1]).write_text(
        json.dumps({"version": version.strip(), "runs": results, "errors": native}, indent=1) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
