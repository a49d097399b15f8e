"""Run the committed cubins on a GPU of compute capability 9.0 and record what it computes (needs cupy).

Usage: python3 -m tests.device.record --out FOLDER [--sweep]
Writes FOLDER/recordings.tar (one <family>.rec.xz each) and, with --sweep, FOLDER/sweeps.tar: whole binades of the
special functions, as second differences, for fitting tables.
"""

from __future__ import annotations

import argparse
import io
import lzma
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from . import inputs, recording
from .form import Form
from .forms import FAMILIES, forms
from .recording import POISON

# (family, form, first input of each swept binade)
SWEEPS = (
    ("mufu", "rcp.approx.ftz.f32", (0x3F800000,)),
    ("mufu", "rsqrt.approx.ftz.f32", (0x3F800000, 0x40000000)),
    ("mufu", "sqrt.approx.ftz.f32", (0x3F800000, 0x40000000)),
    ("mufu", "lg2.approx.ftz.f32", (0x3F800000, 0x3F000000, 0x40000000)),
    ("mufu", "ex2.approx.ftz.f32", (0x3F800000, 0x3F000000, 0x3E800000, 0xBF800000)),
    ("mufu", "mufu.sin.turns", (0x3E000000, 0x3E800000, 0x3D800000)),
    ("mufu", "mufu.cos.turns", (0x3E000000, 0x3E800000)),
    ("mufu", "tanh.approx.f32", tuple(range(0x38000000, 0x41800000, 0x800000))),
)


def device_facts() -> tuple[str, str]:
    """(GPU name, driver version)."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0"]
    name, driver = (
        subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    )
    return name, driver


class Module:
    """A family's cubin loaded on the device."""

    def __init__(self, family: str) -> None:
        import cupy

        self.cupy = cupy
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(recording.cubin(family))
            file.flush()
            self.module = cupy.RawModule(path=file.name)
            self.module.get_function(forms(family)[0].symbol)

    def run(self, form: Form, columns, threads: int):
        """Result columns of one launch, a cupy array of shape (outputs * threads,)."""
        cupy = self.cupy
        out = cupy.full(form.outputs * threads, POISON, dtype=cupy.uint32)
        scratch = cupy.zeros(16 * threads, dtype=cupy.uint8)
        kernel = self.module.get_function(form.symbol)
        kernel((threads // form.block,), (form.block,), (columns, out, scratch, cupy.int32(threads)))
        cupy.cuda.Device().synchronize()
        return out


def record_family(family: str) -> recording.Recording:
    """Launch every form twice; a form whose results differ between the launches is refused."""
    import numpy

    module, results = Module(family), {}
    for form in forms(family):
        threads, data, crc = inputs.columns(form.inputs)
        columns = module.cupy.asarray(numpy.frombuffer(data, dtype="<u4"))
        try:
            first, second = (module.run(form, columns, threads).get().tobytes() for _ in range(2))
        except Exception as error:
            raise SystemExit(f"{family}/{form.name}: {error}") from error
        if first != second:
            print(f"  {family}/{form.name}: differs between two launches, left out", flush=True)
            continue
        results[form.name] = recording.Result(form.name, threads, form.outputs, crc, first)
    return recording.Recording(*device_facts(), inputs.VERSION, results)


def _pack_sweep(item: tuple[str, bytes]) -> tuple[str, bytes]:
    """Second differences as bytes (escapes kept apart), compressed."""
    import numpy

    name, raw = item
    values = numpy.frombuffer(raw, dtype="<u4").astype(numpy.int64)
    second = numpy.diff(values, n=2)
    escape = numpy.flatnonzero(numpy.abs(second) > 126)
    small = second.copy()
    small[escape] = 127
    parts = [values[:2].astype("<i8"), small.astype("i1"), escape.astype("<u4"), second[escape].astype("<i8")]
    buffer = io.BytesIO()
    numpy.savez(buffer, first=parts[0], second=parts[1], where=parts[2], what=parts[3])
    return name, lzma.compress(buffer.getvalue(), preset=4)


def sweep_items() -> list[tuple[str, bytes]]:
    """Raw results of whole binades (2^23 inputs each), and of every binary16 and bfloat16 input."""
    items = []
    modules = {family: Module(family) for family in ("mufu", "half", "bfloat")}
    cupy = modules["mufu"].cupy
    found = {(family, form.name): form for family in modules for form in forms(family)}
    for family, name, starts in SWEEPS:
        for start in starts:
            columns = cupy.arange(start, start + (1 << 23), dtype=cupy.uint32)
            items.append(
                (
                    f"{name}.{start:08x}",
                    modules[family].run(found[family, name], columns, 1 << 23).get().tobytes(),
                )
            )
    for (family, name), form in found.items():
        if form.inputs in (("f16",), ("bf16",)):
            columns = cupy.arange(0, 1 << 16, dtype=cupy.uint32)
            items.append(
                (f"{family}.{name}.all", modules[family].run(form, columns, 1 << 16).get().tobytes())
            )
    for name in ("rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"):
        for high in (0x3FF00000, 0x40000000):
            low, top = (
                cupy.zeros(1 << 20, dtype=cupy.uint32),
                cupy.arange(high, high + (1 << 20), dtype=cupy.uint32),
            )
            out = modules["mufu"].run(found["mufu", name], cupy.concatenate([low, top]), 1 << 20)
            items.append((f"{name}.{high:08x}", out[1 << 20 :].get().tobytes()))
    return items


def _write_tar(path: Path, members: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def main() -> int:
    """Record the asked families, each in a process of its own, so that a fault in one leaves the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--one", choices=FAMILIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        (options.out / f"{options.one}.rec.xz").write_bytes(record_family(options.one).to_bytes())
        return 0
    members, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for family in options.family or FAMILIES:
            start = time.monotonic()
            run = subprocess.run(
                [sys.executable, "-m", "tests.device.record", "--out", folder, "--one", family], check=False
            )
            path = Path(folder) / f"{family}.rec.xz"
            failed += run.returncode != 0
            if path.exists():
                members.append((path.name, path.read_bytes()))
            print(f"{family}: rc {run.returncode}, {time.monotonic() - start:.1f} s", flush=True)
    _write_tar(options.out / "recordings.tar", members)
    if options.sweep:
        items = sweep_items()
        with ProcessPoolExecutor(14) as pool:
            packed = list(pool.map(_pack_sweep, items))
        packed.sort(key=lambda item: len(item[1]))
        for part in range(3):
            _write_tar(options.out / f"sweeps{part}.tar", packed[part::3])
        print("sweeps:", {name: len(data) for name, data in packed}, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
