"""`warpath occupancy`: how many blocks fit on an SM, which resource binds, what one more block would take."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from warpath.cli.console import console
from warpath.cli.target import add_gpu
from warpath.gpu import spec
from warpath.gpu.occupancy import Occupancy, Step, driver_carveout, next_step, occupancy, waves

WORDS = {
    "warps": "warp slots",
    "registers": "registers",
    "shared_mem": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_gpu(parser)
    parser.add_argument("--threads", type=int, required=True, metavar="N", help="threads per block")
    parser.add_argument("--registers", type=int, required=True, metavar="N", help="registers per thread")
    parser.add_argument(
        "--shared", type=int, default=0, metavar="BYTES", help="static shared memory per block"
    )
    parser.add_argument(
        "--dynamic-shared", type=int, default=0, metavar="BYTES", help="third launch argument"
    )
    parser.add_argument(
        "--barriers", type=int, default=1, metavar="N", help="barriers used by a block (default: 1)"
    )
    parser.add_argument("--carveout", type=int, metavar="PERCENT", help="preferred shared memory carve-out")
    parser.add_argument("--grid", type=int, metavar="N", help="blocks of the grid, to count waves")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the account; 0 when the launch is possible, 1 when it would be refused."""
    gpu = spec.load(args.gpu)
    occ = occupancy(
        gpu.sm, args.threads, args.registers, args.shared, args.dynamic_shared, args.barriers, args.carveout
    )
    steps = next_step(gpu.sm, occ)
    grid: int | None = args.grid
    grid_waves = None if grid is None else waves(grid, gpu, occ)
    out = console()
    _print_summary(out, gpu, occ)
    if grid is not None and grid_waves is not None:
        last = _last_wave(grid, gpu, occ)
        out.print(f"{grid} blocks on {gpu.sms} SMs: {grid_waves:.2f} waves (computed), {last}")
    out.print(_limits_table(gpu.sm, occ))
    _print_steps(out, occ, steps)
    if args.json:
        args.json.write_text(json.dumps(_as_json(gpu, occ, steps, grid, grid_waves), indent=1) + "\n")
    return 1 if occ.refusal else 0


def _print_summary(out: Console, gpu: spec.Gpu, occ: Occupancy) -> None:
    request = occ.request
    out.print(
        f"{gpu.name} ({gpu.sm.name}): {request.threads} threads, {request.registers} registers, "
        f"{request.static_shared} + {request.dynamic_shared} B shared memory per block"
    )
    if occ.refusal:
        out.print(f"The launch would be refused: {occ.refusal}.")
        return
    out.print(
        f"{occ.blocks_per_sm} blocks and {occ.warps_per_sm} of {occ.max_warps} warps per SM "
        f"({occ.fraction:.1%}), {occ.warps_per_scheduler:g} warps per scheduler (computed)"
    )
    out.print(f"Limited by {', '.join(WORDS[name] for name in occ.limiter)}.")
    if occ.request.carveout is None:
        carveout = driver_carveout(gpu.sm, occ.request)
        l1 = gpu.sm.l1_shared_bytes - carveout
        out.print(
            f"Without a preference the driver sets up {carveout} B of shared memory, {l1} B of L1 (modelled)."
        )
    if occ.needs_opt_in:
        out.print(
            f"More than {gpu.sm.shared_per_block_bytes} B per block needs "
            "cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, ...)."
        )


def _limits_table(sm: spec.Sm, occ: Occupancy) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption="blocks computed, capacities quoted")
    table.add_column("resource", no_wrap=True)
    table.add_column("one block takes", justify="right")
    table.add_column("an SM has", justify="right")
    table.add_column("blocks", justify="right")
    table.add_column("")
    for name, (takes, has, source) in _rows(sm, occ).items():
        limit = occ.limits[name]
        binds = "<- limits" if name in occ.limiter else ""
        table.add_row(WORDS[name], takes, f"{has} [{source}]".replace("[", r"\["), _count(limit), binds)
    return table


def _rows(sm: spec.Sm, occ: Occupancy) -> dict[str, tuple[str, str, str]]:
    """Resource to (share of one block, capacity, source key of the capacity)."""
    request = occ.request
    warps = -(-request.threads // sm.warp_size)
    pool = _count(sm.barrier_pool)
    pool_source = "CUH" if sm.barrier_pool is None else sm.source("barrier_pool")
    return {
        "warps": (f"{warps} warps", str(sm.max_warps), sm.source("max_warps")),
        "registers": (f"{occ.registers_per_block} as allocated", str(sm.registers), sm.source("registers")),
        "shared_mem": (
            f"{occ.shared_per_block} B with reserve",
            f"{occ.carveout_bytes} B carve-out",
            sm.source("carveouts_bytes"),
        ),
        "blocks": ("1", str(sm.max_blocks), sm.source("max_blocks")),
        "barriers": (str(request.barriers), pool, pool_source),
    }


def _print_steps(out: Console, occ: Occupancy, steps: list[Step]) -> None:
    goal = "To run at all" if occ.refusal else f"For {occ.blocks_per_sm + 1} blocks per SM"
    out.print(f"{goal} (computed):")
    for step in steps:
        out.print(f"  {WORDS[step.resource]}: {_advice(step, occ)}")


def _advice(step: Step, occ: Occupancy) -> str:
    if step.resource == "blocks":
        return f"the hardware has {step.now} block slots; only larger blocks add warps"
    if step.needed is None:
        return f"no value below {step.now} {step.unit} admits it"
    if step.blocks <= occ.blocks_per_sm:
        return f"{step.now} -> {step.needed} {step.unit}, alone changes nothing"
    blocks = "1 block" if step.blocks == 1 else f"{step.blocks} blocks"
    warps = "the same warps" if step.warps == occ.warps_per_sm else f"{step.warps} warps"
    return f"{step.now} -> {step.needed} {step.unit}, alone gives {blocks} and {warps}"


def _last_wave(grid: int, gpu: spec.Gpu, occ: Occupancy) -> str:
    """How full the last, partial wave is."""
    resident = gpu.sms * occ.blocks_per_sm
    rest = grid % resident
    return f"the last one {rest / resident:.0%} full" if rest else "the last one full"


def _count(limit: int | None) -> str:
    return "no limit" if limit is None else str(limit)


def _as_json(
    gpu: spec.Gpu, occ: Occupancy, steps: list[Step], grid: int | None, grid_waves: float | None
) -> dict[str, Any]:
    return {
        "gpu": gpu.name,
        "sm": gpu.sm.name,
        "origin": "computed",
        "occupancy": {**asdict(occ), "fraction": occ.fraction},
        "driver_carveout_bytes": driver_carveout(gpu.sm, occ.request),
        "grid": grid,
        "waves": grid_waves,
        "next_step": [asdict(step) for step in steps],
    }
