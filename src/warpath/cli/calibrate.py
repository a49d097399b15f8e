"""`warpath calibrate`: microbenchmarks on this machine's GPU become the timing table of a board file."""

from __future__ import annotations

import argparse
from pathlib import Path

from warpath.calibration import collect
from warpath.calibration.fit import Raw, fit
from warpath.errors import UsageError
from warpath.gpu import spec, timing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("gpu", metavar="BOARD", help="the board that the GPU is, as `warpath gpus` calls it")
    parser.add_argument("--raw", metavar="DIR", type=Path, required=True, help="where the raw data is kept")
    parser.add_argument("--fit-only", action="store_true", help="use the raw data there; no GPU is needed")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the table here, not to stdout"
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
    raw = Raw(probes, profiled, gpu.sms, values["l2_slices"], gpu.l2_bytes, values["dram_channels"])
    lines = ["[timing]", *(f'{name} = {{v = {value}, src = "MEAS"}}' for name, value in fit(raw).items())]
    text = "\n".join(lines) + "\n"
    if args.output:
        args.output.write_text(text)
    else:
        print(text, end="")
    return 0
