"""Compile the form families to sm_90 cubins and write their manifests (needs the NVIDIA compiler wheels).

Usage: python -m device.build [--family NAME ...]   (from tests/)
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

DATA = Path(__file__).resolve().parents[1] / "data" / "device"
SM = "sm_90"


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


def source(family: str) -> str:
    """The family's CUDA source: one kernel a form."""
    declarations = getattr(import_module(f"{__package__}.forms.{family}"), "DECLARATIONS", "")
    kernels = [kernel_source(form, word_count(form.inputs)) for form in forms(family)]
    return PRELUDE + declarations + "\n".join(kernels)


def sections(cubin: bytes) -> dict[str, tuple[int, int]]:
    """Section name -> (file offset, size) of a 64-bit ELF."""
    table, entry, count, names = (*struct.unpack_from("<Q", cubin, 0x28), *struct.unpack_from("<HHH", cubin, 0x3A))
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry) for i in range(count)]
    strings = headers[names][4]

    def text(at: int) -> str:
        return cubin[at : cubin.index(0, at)].decode()

    return {text(strings + name): (offset, size) for name, _, _, _, offset, size in headers}


def disassemble(code: bytes) -> list[str]:
    """Opcodes with modifiers of a kernel's code, one per 16 bytes."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as raw:
        raw.write(code)
        raw.flush()
        run = subprocess.run([tool("nvdisasm"), "-b", SM.upper().replace("_", ""), "-json", raw.name],
                             capture_output=True, text=True, check=True)  # fmt: skip
    functions = json.loads(run.stdout)[1]
    return [instruction["opcode"] for instruction in functions[0]["sass-instructions"]]


def opcodes_by_form(cubin: bytes, found: list[Form]) -> dict[str, list[str]]:
    """Form name -> its kernel's opcodes, from one disassembly of all kernels laid end to end."""
    where = sections(cubin)
    parts, total = [], 0
    for form in found:
        offset, size = where[f".text.{form.symbol}"]
        parts.append((form.name, total // 16, (total + size) // 16, cubin[offset : offset + size]))
        total += size
    text = disassemble(b"".join(part[3] for part in parts))
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


def build(family: str) -> tuple[int, set[str], list[str]]:
    """Compile one family; returns (forms, opcode forms seen, complaints)."""
    found = forms(family)
    with tempfile.TemporaryDirectory() as folder:
        text, target = Path(folder) / f"{family}.cu", Path(folder) / f"{family}.cubin"
        text.write_text(source(family))
        run = subprocess.run([tool("nvcc"), "-cubin", f"-arch={SM}", "-O3", "-w", "-o", str(target), str(text)],
                             capture_output=True, text=True, check=False)  # fmt: skip
        if run.returncode:
            raise SystemExit(f"{family}: nvcc failed\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
        cubin = target.read_bytes()
    opcodes = opcodes_by_form(cubin, found)
    cubin = patch(cubin, found, opcodes)
    complaints = [
        f"{family}/{form.name}: no opcode matches {form.expect}; has {sorted(set(opcodes[form.name]))}"
        for form in found
        if form.expect and not any(re.search(form.expect, opcode) for opcode in opcodes[form.name])
    ]
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"{family}.cubin.xz").write_bytes(lzma.compress(cubin, preset=9))
    manifest = {form.name: " ".join(_body(opcodes[form.name])) for form in found}
    (DATA / f"{family}.opcodes.json").write_text(json.dumps(manifest, indent=0) + "\n")
    return len(found), {x for row in manifest.values() for x in row.split()}, complaints


def _body(opcodes: list[str]) -> list[str]:
    """Distinct opcodes in order of appearance, padding left out."""
    end = max(i for i, opcode in enumerate(opcodes) if opcode not in ("NOP", "BRA", "")) + 1
    return list(dict.fromkeys(opcodes[:end]))


def main() -> int:
    """Build the asked families (default all) and print what each covers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    every: set[str] = set()
    for family in parser.parse_args().family or FAMILIES:
        count, seen, complaints = build(family)
        every |= seen
        print(f"{family}: {count} forms, {len(seen)} opcode forms", *complaints, sep="\n  ")
    print(f"{len(every)} opcode forms in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
