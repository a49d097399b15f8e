"""Renew the list of opcodes that NVIDIA's compilers were seen to emit, for `warpath doctor --coverage`.

    python benchmarks/seen_opcodes.py

Compiles the examples, the case programs and the coverage sources for every generation and counts the opcodes that
nvdisasm prints. Writes src/warpath/isa/data/seen.json. Takes some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from warpath.toolchain.locate import find_tools

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "warpath" / "isa" / "data" / "seen.json"
GENERATIONS = ("75", "80", "86", "89", "90", "100", "120")
# The asynchronous instructions need the targets that are for one chip alone.
SPECIFIC = ("90a", "100a", "120a")


def opcodes(source: Path, architecture: str, folder: Path) -> Counter[str]:
    """Static count of each mnemonic; empty when the source is not for this generation."""
    tools = find_tools()
    cubin = folder / f"{source.stem}.{architecture}.cubin"
    code = f"arch=compute_{architecture},code=sm_{architecture}"
    command = [tools.nvcc, "-std=c++17", "-lineinfo", "-gencode", code, "-cubin", source, "-o", cubin]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return Counter()
    output = subprocess.run(
        [tools.nvdisasm, "-json", cubin], capture_output=True, text=True, check=True
    ).stdout
    functions = json.loads(output)[1]
    return Counter(i["opcode"].split(".")[0] for function in functions for i in function["sass-instructions"])


def main() -> int:
    """Compile, count, write."""
    plain = sorted([*(ROOT / "examples").glob("*.cu"), *(ROOT / "tests" / "cases").glob("*.cu")])
    special = sorted((ROOT / "tests" / "data" / "coverage").glob("*.cu"))
    jobs = [(s, a) for s in plain for a in GENERATIONS] + [(s, a) for s in special for a in SPECIFIC]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda job: opcodes(*job, Path(folder)), jobs):
            total += found
    origin = {"programs": len(plain) + len(special), "targets": [*GENERATIONS, *SPECIFIC]}
    document = {"from": origin, "compiler": find_tools().version, "opcodes": dict(sorted(total.items()))}
    TARGET.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(total)} opcodes in {len(jobs)} cubins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
