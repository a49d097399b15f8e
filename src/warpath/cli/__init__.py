"""The command line: one module per subcommand, imported only when it is the one asked for.

Each module has `add_arguments(parser)` and `run(args) -> int`. Expected errors become one line on stderr and the
exit code of their class; anything else is a bug and shows its traceback.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from warpath import __version__
from warpath.errors import ToolError, WarpathError

COMMANDS = {
    "run": "run a program on the model GPU",
    "check": "find memory errors, races, misused barriers, reads of nothing, and what hangs",
    "explain": "where the time of each launch went, and its whole path, stage by stage",
    "compile": "what each compiler stage made of a source",
    "sass": "the machine code with its control words spelled out",
    "occupancy": "blocks per SM, what limits them, what one step would buy",
    "gpus": "the boards warpath knows, with sources",
    "trace": "record what a program says to a real driver and GPU, or show a recording",
    "replay": "play a recorded command stream into the model GPU",
    "sweep": "one program at many points: boards, macros, arguments; tabulated or plotted",
    "compare": "two reports side by side: boards, builds, or model against trace",
    "calibrate": "measure a GPU and write its board file for the model's clock",
    "doctor": "what works on this machine, and which opcodes are covered",
}

INTERRUPTED = 130


def parser(command: str | None) -> argparse.ArgumentParser:
    """The argument parser; only `command`'s own options are filled in, so that the others need no import."""
    top = argparse.ArgumentParser(
        prog="warpath", description="Follow a CUDA kernel launch down every layer, with or without a GPU."
    )
    top.add_argument("--version", action="version", version=f"warpath {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == command:
            importlib.import_module(f"warpath.cli.{name}").add_arguments(sub)
    return top


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our words, and those after the first `--`, which are the program's."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `warpath`; returns the exit code."""
    words, program_words = _split(list(sys.argv[1:] if argv is None else argv))
    command = next((word for word in words if not word.startswith("-")), None)
    try:
        args = parser(command).parse_args(words, argparse.Namespace(arguments=program_words))
        return importlib.import_module(f"warpath.cli.{args.command}").run(args)
    except WarpathError as error:
        if isinstance(error, ToolError) and error.output:
            print(error.output.rstrip(), file=sys.stderr)
        print(f"warpath: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("warpath: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output (head, less) is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
