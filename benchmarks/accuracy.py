"""The model's clock against an H200: every reference case built, run and compared, cold and warm.

    python benchmarks/accuracy.py [CASE ...] [--json FILE] [--largest N] [--threads N] [--write]

References are Nsight Compute's figures: those of the cases in tests/data/reference, and those of the programs in
benchmarks/programs, which were written after the model and compared with it before it was changed. Cold: caches
flushed. Warm: the same launch again with its memory put back, as ncu replays a kernel. Worst first, then the summary of
each. `--write` renews what reports say of the model's accuracy over both, and which opcodes they cover.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpath.cli.machine import Machine, make_machine
from warpath.cli.target import resolve
from warpath.errors import WarpathError
from warpath.frontend.metrics import stall_ratio
from warpath.gpu import spec
from warpath.report.traffic import opcode_of

if TYPE_CHECKING:
    from warpath.frontend.launch import Launch

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "tests" / "data" / "reference"
PROGRAMS = ROOT / "tests" / "cases"
OWN_PROGRAMS = ROOT / "benchmarks" / "programs"
OWN_REFERENCE = OWN_PROGRAMS / "h200"
BOARD = "h200"
VALIDATED = ROOT / "src" / "warpath" / "account" / "data" / "validated.json"
DURATION = "gpu__time_duration.sum"
LEAST_NS = 1000  # shorter launches are not judged
LARGEST = 50_000_000  # warp instructions of a launch beyond which it is left out, and said so
TOLERANT = {  # per cent of the reference plus an absolute part
    "dram__bytes_read.sum": (5.0, 64 << 10),
    "dram__bytes_write.sum": (5.0, 64 << 10),
}
EXACT = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)
_TEX = "lts__t_sectors_srcunit_tex"
_L1_HIT_RATE = "l1tex__t_sector_hit_rate.pct"  # loads and stores
_STALL = stall_ratio("*").split("*")


@dataclass(frozen=True, slots=True)
class Row:
    """One launch, cold or warm; times in ns, shares in per cent of all stall cycles."""

    case: str
    kernel: str
    cache: str
    measured: float
    modelled: float
    top: str = ""
    top_share: float = 0.0
    modelled_top: str = ""
    modelled_share: float = 0.0
    own: bool = False

    @property
    def error(self) -> float:
        """Relative error of the duration, per cent."""
        return 100 * (self.modelled / self.measured - 1)


class Comparer:
    """An observer that rehearses each referenced launch and notes how it compares."""

    def __init__(
        self, case: str, references: list[dict[str, Any] | None], largest: int, *, own: bool = False
    ) -> None:
        self.case = case
        self.own = own
        self.rows: list[Row] = []
        self.counters: list[tuple[str, bool]] = []
        self.skipped: list[str] = []
        self.instructions = 0
        self.seconds = 0.0
        self.machine: Machine | None = None
        self.opcodes: set[str] = set()
        self._grid: Any = None
        self._references = references
        self._largest = largest
        self._seen = 0

    def on_launch_start(self, launch: Launch) -> None:
        """Compare, when there is a reference for it."""
        index, self._seen = self._seen, self._seen + 1
        reference = self._references[index] if index < len(self._references) else None
        if reference is None or self.machine is None:
            return
        if reference["cold"].get("smsp__inst_executed.sum", 0) > self._largest:
            self.skipped.append(f"{self.case}: {reference['kernel']} {reference['grid']}")
            return
        for cache in ("cold", "warm"):
            if cache not in reference:
                continue
            started = time.perf_counter()
            counters = self.machine.model.rehearse(launch, flush=cache == "cold")
            self.seconds += time.perf_counter() - started
            self.instructions += counters["inst_executed"]
            self._note(reference, cache, counters["metrics"])

    def on_grid(self, launch: Launch, grid: Any) -> None:
        """Keep the grid, whose text says which opcodes ran."""
        self._grid = grid

    def on_launch(self, launch: Launch) -> None:
        """Note the opcodes of a launch that was compared."""
        index = self._seen - 1
        if index >= len(self._references) or self._references[index] is None:
            return
        executed = memoryview(launch.counters["executed"]).cast("Q")
        texts = (self._grid.text(i) for i, count in enumerate(executed) if count)
        self.opcodes |= {opcode_of(text).split(".")[0] for text in texts}

    def _note(self, reference: dict[str, Any], cache: str, modelled: dict[str, float]) -> None:
        measured = reference[cache]
        kernel = str(reference["kernel"]).partition("(")[0].removeprefix("void ")
        if measured.get(DURATION, 0) < LEAST_NS:
            return
        row = Row(self.case, kernel, cache, measured[DURATION], modelled[DURATION], own=self.own)
        if cache == "cold":
            top, share = _top(measured)
            own_top, own_share = _top(modelled)
            row = replace(row, top=top, top_share=share, modelled_top=own_top, modelled_share=own_share)
            self.counters += _compare(measured, modelled)
        self.rows.append(row)


def _top(metrics: dict[str, float]) -> tuple[str, float]:
    """The largest stall reason and its share of all warp cycles, per cent."""
    ratios = {
        name.removeprefix(_STALL[0]).removesuffix(_STALL[1]): value
        for name, value in metrics.items()
        if name.startswith(_STALL[0])
    }
    total = sum(ratios.values()) or 1.0
    ratios.pop("selected", None)
    reason = max(ratios, key=lambda name: ratios[name])
    return reason, 100 * ratios[reason] / total


def _compare(measured: dict[str, float], modelled: dict[str, float]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for name in EXACT:
        want, have = measured.get(name) or 0.0, modelled[name]
        found.append((name, abs(want - have) <= 0.005 * max(abs(want), 1e-9)))
    for name, (percent, slack) in TOLERANT.items():
        want, have = measured.get(name) or 0.0, modelled[name]
        found.append((name, abs(want - have) <= want * percent / 100 + slack))
    # Of look-ups where ncu gave them: the total can come from another pass, in which the kernel ran otherwise.
    of = "look-ups" if measured.get(f"{_TEX}_lookup_miss.sum") is not None else "sectors"
    want, have = _hit_rate(measured, of), _hit_rate(modelled, of)
    found.append(("L2 hit rate within 5 points", abs(want - have) <= 5))
    if measured.get(_L1_HIT_RATE) is not None:
        found.append(
            ("L1 hit rate within 5 points", abs(measured[_L1_HIT_RATE] - modelled[_L1_HIT_RATE]) <= 5)
        )
    return found


def _hit_rate(metrics: dict[str, float], of: str) -> float:
    hits = metrics.get(f"{_TEX}_lookup_hit.sum") or 0.0
    total = metrics.get(f"{_TEX}.sum") or 0.0
    if of == "look-ups":
        total = hits + (metrics.get(f"{_TEX}_lookup_miss.sum") or 0.0)
    return 100 * hits / max(total, 1.0)


def run_case(name: str, largest: int, threads: int) -> Comparer:
    """Build the case and run it on the model."""
    gpu = spec.load(BOARD)
    own = (OWN_REFERENCE / f"{name}.json").exists()
    programs, reference = (OWN_PROGRAMS, OWN_REFERENCE) if own else (PROGRAMS, REFERENCE)
    references = json.loads((reference / f"{name}.json").read_text())["launches"]
    comparer = Comparer(name, references, largest, own=own)
    target = resolve(argparse.Namespace(program=programs / f"{name}.cu", sources=[], nvcc=[], macros=[]), gpu)
    machine = comparer.machine = make_machine(
        gpu,
        target.path,
        [],
        eager=False,
        count=False,
        threads=threads,
        hold=True,
        timeout=600,
        observers=[comparer],
    )
    machine.session.run()
    return comparer


def write(figures: dict[str, float], comparers: list[Comparer]) -> None:
    """Renew the data that reports quote."""
    VALIDATED.parent.mkdir(exist_ok=True)
    data = {
        "board": BOARD,
        "mean_error_cold_percent": round(figures["mape_cold_percent"], 1),
        "mean_error_warm_percent": round(figures["mape_warm_percent"], 1),
        "launches": int(figures["launches"]),
        "opcodes": sorted({opcode for comparer in comparers for opcode in comparer.opcodes}),
    }
    VALIDATED.write_text(json.dumps(data, indent=1) + "\n")


def table(rows: list[Row]) -> str:
    """The rows, worst first."""
    head = f"{'case':30} {'kernel':18} {'cache':5} {'measured':>9} {'modelled':>9} {'error':>7}  top stall"
    lines = [head]
    for row in sorted(rows, key=lambda row: -abs(row.error)):
        stall = ""
        if row.top:
            stall = f"{row.top} {row.top_share:.0f} % / {row.modelled_top} {row.modelled_share:.0f} %"
        lines.append(
            f"{row.case[:30]:30} {row.kernel[:18]:18} {row.cache:5} {row.measured:9.0f} {row.modelled:9.0f}"
            f" {row.error:+6.1f}%  {stall}"
        )
    return "\n".join(lines)


def show(figures: dict[str, float]) -> None:
    """A figure a line."""
    for name, value in figures.items():
        print(f"{name:75} {value:12.1f}")


def summary(rows: list[Row], comparers: list[Comparer]) -> dict[str, float]:
    """Mean errors, how often the stalls agree, counters that agree, and the clock's speed."""
    cold = [row for row in rows if row.cache == "cold"]
    warm = [row for row in rows if row.cache == "warm"]
    tops = [row for row in cold if row.top]
    figures = {
        "mape_cold_percent": statistics.mean(abs(row.error) for row in cold),
        "mape_warm_percent": statistics.mean(abs(row.error) for row in warm) if warm else math.nan,
        "launches_beyond_25_percent": float(sum(abs(row.error) > 25 for row in rows)),
        "launches": float(len(rows)),
        "top_stall_same_percent": 100 * statistics.mean(row.top == row.modelled_top for row in tops),
        "top_share_within_10_points_percent": 100
        * statistics.mean(abs(row.top_share - row.modelled_share) <= 10 for row in tops),
        "warp_instructions_per_second": sum(c.instructions for c in comparers)
        / sum(c.seconds for c in comparers),
    }
    for name in sorted({name for c in comparers for name, _ in c.counters}):
        held = [good for c in comparers for own, good in c.counters if own == name]
        figures[f"{name}: launches that agree, per cent"] = 100 * statistics.mean(held)
    return figures


def main() -> int:
    """Run what is asked for; 1 when a case cannot run."""
    parser = argparse.ArgumentParser(description="The model's clock against an H200.")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--largest", type=int, default=LARGEST, metavar="N", help="warp instructions of one launch"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="host threads (default: all)")
    parser.add_argument("--write", action="store_true", help="renew the package's accuracy data")
    args = parser.parse_args()
    folders = (REFERENCE, OWN_REFERENCE)
    names = args.cases or [path.stem for folder in folders for path in sorted(folder.glob("*.json"))]
    comparers: list[Comparer] = []
    failed = False
    for name in names:
        try:
            comparers.append(run_case(name, args.largest, args.threads))
        except (WarpathError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
    rows = [row for comparer in comparers for row in comparer.rows]
    print(table(rows))
    for line in (line for comparer in comparers for line in comparer.skipped):
        print(f"left out as too large: {line}")
    if not rows:
        print("no launch was compared", file=sys.stderr)
        return 1
    for own, title in ((False, "reference cases"), (True, "programs of our own")):
        some = [row for row in rows if row.own == own]
        if some:
            print(f"\n{title}")
            show(summary(some, [comparer for comparer in comparers if comparer.own == own]))
    figures = summary(rows, comparers)
    if args.json:
        args.json.write_text(
            json.dumps({"summary": figures, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
        )
    if args.write:
        write(figures, comparers)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
