"""The recorded-data file of a family: an xz stream of one JSON header line, then each form's result columns.

Header: {"device", "driver", "inputs_version", "forms": [{"name", "threads", "outputs", "crc"}]}, where crc is the
CRC-32 of the input columns (inputs.py). Results are little-endian u32 columns, `outputs` of `threads` words a form.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict, dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data" / "device"
POISON = 0xCDCDCDCD  # what result words hold before a launch
RECORDED = "sm_90"
OTHERS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120")


@dataclass(frozen=True)
class Result:
    """Results of one form as the hardware gave them."""

    name: str
    threads: int
    outputs: int
    crc: int
    data: bytes


@dataclass(frozen=True)
class Recording:
    """All results of one family, and the device they come from."""

    device: str
    driver: str
    inputs_version: int
    results: dict[str, Result]

    def to_bytes(self) -> bytes:
        """The file's content."""
        forms = []
        for result in self.results.values():
            row = asdict(result)
            del row["data"]
            forms.append(row)
        header = {
            "device": self.device,
            "driver": self.driver,
            "inputs_version": self.inputs_version,
            "forms": forms,
        }
        blob = b"".join(result.data for result in self.results.values())
        return lzma.compress(json.dumps(header).encode() + b"\n" + blob, preset=9)


def parse(content: bytes) -> Recording:
    """Recording from a file's content; ValueError when sizes do not add up."""
    head, _, blob = lzma.decompress(content).partition(b"\n")
    header, results, at = json.loads(head), {}, 0
    for row in header["forms"]:
        size = 4 * row["threads"] * row["outputs"]
        results[row["name"]] = Result(**row, data=blob[at : at + size])
        at += size
    if at != len(blob):
        raise ValueError(f"recording holds {len(blob)} result bytes, its header says {at}")
    return Recording(header["device"], header["driver"], header["inputs_version"], results)


def load(family: str) -> Recording:
    """The committed recording of a family."""
    return parse((DATA / f"{family}.rec.xz").read_bytes())


def cubin_path(family: str, sm: str = RECORDED) -> Path:
    """Where a family's compressed cubin for an architecture is kept."""
    return DATA / f"{family}.cubin.xz" if sm == RECORDED else DATA / sm / f"{family}.cubin.xz"


def cubin(family: str, sm: str = RECORDED) -> bytes:
    """A family's committed cubin."""
    return lzma.decompress(cubin_path(family, sm).read_bytes())
