"""`warpath calibrate`: microbenchmarks on this machine's GPU become two tables of a board file, timing and launch."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from warpath.calibration import collect
from warpath.calibration.fit import Raw, fit
from warpath.calibration.fit_launch import fit_launch
from warpath.errors import UsageError
from warpath.gpu import launch_path, spec, timing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("gpu", metavar="BOARD", help="the board that the GPU is, as `warpath gpus` calls it")
    parser.add_argument("--raw", metavar="DIR", type=Path, required=True, help="where the raw data is kept")
    parser.add_argument("--fit-only", action="store_true", help="use the raw data there; no GPU is needed")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the tables here, not to stdout"
    )


def run(args: argparse.Namespace) -> int:
    """Collect, fit, print."""
    gpu = spec.load(args.gpu)
    if not args.fit_only:
        collect.collect(args.raw)
    values = timing.resolve(gpu).values
    try:
        probes, profiled = (collect.read(args.raw / name) for name in ("probes.json.gz", "profiled.json.gz"))
    except OSError as error:
        raise UsageError(
            f"no raw data in {args.raw}: {error.strerror}; leave --fit-only out to collect it"
        ) from None
    raw = Raw(
        probes, profiled, gpu.sms, values["l2_slices"], gpu.l2_bytes, values["dram_channels"], values["gpcs"]
    )
    path = launch_path.resolve(gpu)
    launch = fit_launch(raw, path, values)
    text = f"{_table('timing', fit(raw))}\n{_table('launch', launch)}{_inherited(launch, path)}"
    if args.output:
        args.output.write_text(text)
    else:
        print(text, end="")
    return 0


def _table(name: str, values: Mapping[str, int]) -> str:
    """A table of a board file."""
    return "\n".join(
        [f"[{name}]", *(f'{key} = {{v = {value}, src = "MEAS"}}' for key, value in values.items()), ""]
    )


def _inherited(launch: Mapping[str, int], path: launch_path.LaunchPath) -> str:
    """A comment that names the costs which no probe decides."""
    missing = [field.name for field in fields(path) if field.name != "origin" and field.name not in launch]
    return f"# Decided by no probe, as {path.origin} has them: {', '.join(missing)}\n"
