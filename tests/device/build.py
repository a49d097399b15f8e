"""Compile the form families to cubins and write sm_90's manifests (needs the NVIDIA compiler wheels).

Usage: python -m tests.device.build [--family NAME ...] [--sm sm_90 ...]

sm_90 is what the hardware ran. The other architectures' cubins hold the same kernels, so that the recorded
results check their instructions too.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from .form import PRELUDE, Form, kernel_source
from .forms import FAMILIES, forms
from .inputs import word_count
from .recording import DATA, OTHERS, RECORDED, cubin_path


def tool(name: str) -> str:
    """Path of a compiler tool: the wheels' bin folder, else PATH."""
    spec = find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        candidate = Path(root) / "cu13" / "bin" / name
        if candidate.exists():
            return str(candidate)
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} not found: install the nvidia-cuda-nvcc and nvidia-cuda-nvdisasm wheels")
    return found


def source(family: str, chosen: list[Form]) -> str:
    """CUDA source of some of a family's forms: one kernel each."""
    declarations = getattr(import_module(f"{__package__}.forms.{family}"), "DECLARATIONS", "")
    kernels = [kernel_source(form, word_count(form.inputs)) for form in chosen]
    return PRELUDE + declarations + "\n".join(kernels)


def _failed(errors: str, text: str, place: str, start: str) -> set[str]:
    """Symbols of the kernels around the lines that errors name."""
    lines, failed = text.split("\n"), set[str]()
    for number in re.findall(place, errors):
        for line in reversed(lines[: int(number)]):
            if start in line:
                failed.add(re.search(r"\b(k_\w+)\(", line)[1])  # type: ignore[index]
                break
    return failed


def compile_family(family: str, sm: str) -> bytes:
    """The family's cubin for an architecture; forms it has no instruction for are left out, except on sm_90."""
    chosen = forms(family)
    with tempfile.TemporaryDirectory() as folder:
        text, ptx, target = (Path(folder) / f"{family}.{end}" for end in ("cu", "ptx", "cubin"))
        while True:
            text.write_text(source(family, chosen))
            arch = sm.replace("sm_", "compute_")
            run = _run("nvcc", "-ptx", f"-arch={arch}", "-O3", "-w", "-o", str(ptx), str(text))
            failed = _failed(run.stderr, text.read_text(), r"\.cu\((\d+)\): error", 'extern "C"')
            if run.returncode == 0:
                run = _run("ptxas", f"-arch={sm}", "-O3", "-o", str(target), str(ptx))
                if run.returncode == 0:
                    return target.read_bytes()
                failed = _failed(run.stderr, ptx.read_text(), r"line (\d+); error", ".entry")
            if not failed or sm == RECORDED:
                raise SystemExit(f"{family} for {sm}: does not compile\n{run.stderr[-3000:]}")
            chosen = [form for form in chosen if form.symbol not in failed]


def _run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool(name), *arguments], capture_output=True, text=True, check=False)


def sections(cubin: bytes) -> dict[str, tuple[int, int]]:
    """Section name -> (file offset, size) of a 64-bit ELF."""
    table, entry, count, names = (
        *struct.unpack_from("<Q", cubin, 0x28),
        *struct.unpack_from("<HHH", cubin, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry) for i in range(count)]
    strings = headers[names][4]

    def text(at: int) -> str:
        return cubin[at : cubin.index(0, at)].decode()

    return {text(strings + name): (offset, size) for name, _, _, _, offset, size in headers}


def disassemble(code: bytes, sm: str) -> list[str]:
    """Opcodes with modifiers of code, one per 16 bytes."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as raw:
        raw.write(code)
        raw.flush()
        run = _run("nvdisasm", "-b", sm.upper().replace("_", ""), "-json", raw.name)
    functions = json.loads(run.stdout)[1]
    return [instruction["opcode"] for instruction in functions[0]["sass-instructions"]]


def opcodes_by_form(cubin: bytes, found: list[Form], sm: str) -> dict[str, list[str]]:
    """Form name -> its kernel's opcodes, from one disassembly of all kernels laid end to end."""
    where = sections(cubin)
    parts, total = [], 0
    for form in found:
        offset, size = where[f".text.{form.symbol}"]
        parts.append((form.name, total // 16, (total + size) // 16, cubin[offset : offset + size]))
        total += size
    text = disassemble(b"".join(part[3] for part in parts), sm)
    return {name: text[first:last] for name, first, last, _ in parts}


def patch(cubin: bytes, found: list[Form], opcodes: dict[str, list[str]]) -> bytes:
    """The cubin with each form's immediate replaced (bits 63:32 of the matching instructions)."""
    data, where = bytearray(cubin), sections(cubin)
    for form in found:
        if form.patch is None:
            continue
        pattern, immediate = form.patch
        hits = [i for i, opcode in enumerate(opcodes[form.name]) if re.fullmatch(pattern, opcode)]
        if len(hits) != 1:
            raise SystemExit(f"{form.name}: {len(hits)} instructions match {pattern}, want 1")
        struct.pack_into("<I", data, where[f".text.{form.symbol}"][0] + 16 * hits[0] + 4, immediate)
    return bytes(data)


def build(family: str, sm: str) -> tuple[int, set[str], list[str]]:
    """Build and store one family; returns (forms, opcode forms seen, complaints). The manifest is sm_90's alone."""
    cubin = compile_family(family, sm)
    where = sections(cubin)
    found = [form for form in forms(family) if f".text.{form.symbol}" in where]
    opcodes = opcodes_by_form(cubin, found, sm)
    path = cubin_path(family, sm)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(patch(cubin, found, opcodes), preset=9))
    manifest = {form.name: " ".join(_body(opcodes[form.name])) for form in found}
    complaints: list[str] = []
    if sm == RECORDED:
        (DATA / f"{family}.opcodes.json").write_text(json.dumps(manifest, indent=0) + "\n")
        complaints = [
            f"{family}/{form.name}: no opcode matches {form.expect}; has {sorted(set(opcodes[form.name]))}"
            for form in found
            if form.expect and not any(re.search(form.expect, opcode) for opcode in opcodes[form.name])
        ]
    return len(found), {x for row in manifest.values() for x in row.split()}, complaints


def _body(opcodes: list[str]) -> list[str]:
    """Distinct opcodes in order of appearance, padding left out."""
    end = max(i for i, opcode in enumerate(opcodes) if opcode not in ("NOP", "BRA", "")) + 1
    return list(dict.fromkeys(opcodes[:end]))


def main() -> int:
    """Build the asked families (default all) for the asked architectures, and print what each covers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--sm", action="append", choices=(RECORDED, *OTHERS))
    options = parser.parse_args()
    for sm in options.sm or (RECORDED,):
        every: set[str] = set()
        for family in options.family or FAMILIES:
            count, seen, complaints = build(family, sm)
            every |= seen
            print(f"{family}: {count} forms, {len(seen)} opcode forms", *complaints, sep="\n  ")
        print(f"{sm}: {len(every)} opcode forms in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
