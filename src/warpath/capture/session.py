"""Runs a program under the recorder and leaves a log behind."""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpath.capture import log
from warpath.capture.trace import Trace
from warpath.errors import UsageError

LIBRARY = "libwarpath-trace.so"
CONTROL_DEVICE = Path("/dev/nvidiactl")
_DRIVER = Path("/proc/driver/nvidia")
_WIDE_CHANNEL_SINCE = 610  # branch from which a handle precedes hUserdMemory in the channel's parameters
_PT_INTERP = 3
_CUPTI = "libcupti.so.13"


@dataclass(frozen=True, slots=True)
class Recording:
    """What to record: the program and its arguments, where to, and how much."""

    program: Sequence[str]
    output: Path
    doorbell: bool = True
    memory: bool = False
    calls: bool = True
    images: bool = False  # store what modules are loaded from
    measure: Path | None = None  # libcupti
    untraced: bool = False  # also run without the recorder first, for its cost


def driver_version() -> str:
    """The version of the loaded kernel driver, "" when there is none."""
    try:
        text = (_DRIVER / "version").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text)
    return found[1] if found else ""


def gpu_name() -> str:
    """The first GPU's name, "" when the driver does not say."""
    for path in sorted(_DRIVER.glob("gpus/*/information")):
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Model:"):
                return line.split(":", 1)[1].strip()
    return ""


def find_cupti() -> Path:
    """CUPTI's library, from the wheel or the toolkit; UsageError when there is none."""
    import sysconfig

    places = [
        Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "lib",
        *sorted(Path("/usr/local").glob("cuda*/extras/CUPTI/lib64"), reverse=True),
        *sorted(Path("/usr/local").glob("cuda*/lib64"), reverse=True),
    ]
    for place in places:
        if (place / _CUPTI).exists():
            return place / _CUPTI
    raise UsageError(
        f"--measure needs {_CUPTI}: pip install nvidia-cuda-cupti, or install the CUDA toolkit's CUPTI"
    )


def check_machine() -> None:
    """UsageError, with what to do, when this machine has no NVIDIA driver that this user may use."""
    if not CONTROL_DEVICE.exists():
        raise UsageError(
            f"no NVIDIA driver here ({CONTROL_DEVICE} does not exist): `warpath trace --show FILE` decodes a recording "
            "anywhere, `warpath run` needs no GPU"
        )
    for device in (CONTROL_DEVICE, *Path("/dev").glob("nvidia[0-9]*")):
        if not os.access(device, os.R_OK | os.W_OK):
            raise UsageError(
                f"no permission to use {device}: become a member of the group that owns it, or ask for access to it"
            )


def check_program(word: str) -> Path:
    """The program's file; UsageError when it cannot be run under the recorder."""
    found = shutil.which(word)
    if found is None:
        raise UsageError(f"{word} is not a program that can be run")
    path = Path(found).resolve()
    mode = path.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID):
        raise UsageError(
            f"{word} changes its user or group when it runs: the recorder cannot be preloaded into it"
        )
    if _is_static(path.read_bytes()[:4096]):
        raise UsageError(
            f"{word} is statically linked: its system calls do not go through libc, so nothing can be recorded"
        )
    return path


def _is_static(data: bytes) -> bool:
    """Whether this is the start of a 64-bit ELF program that asks for no dynamic linker."""
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        return False
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    return not any(
        struct.unpack_from("<I", data, at)[0] == _PT_INTERP
        for at in range(offset, min(offset + size * count, len(data) - 4), max(size, 1))
    )


def record(what: Recording, library: Path) -> int:
    """Run the program under the recorder; its exit code (128 + n for signal n), also in the log's facts.

    UsageError when the recorder did not get into it.
    """
    path = check_program(what.program[0])
    values: dict[str, Any] = {
        "driver": driver_version(),
        "gpu": gpu_name(),
        "program": Path(what.program[0]).name,
        "arguments": list(what.program[1:]),
        "options": {"doorbell": what.doorbell, "memory": what.memory, "measure": what.measure is not None},
    }
    if what.untraced:
        start = time.monotonic_ns()
        subprocess.run(list(what.program), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        values["untraced_ns"] = time.monotonic_ns() - start
    start = time.monotonic_ns()
    what.output.write_bytes(log.header(time.time_ns(), start))
    code = _run(what, library, values["driver"])
    end = time.monotonic_ns()
    values |= {"traced_ns": end - start, "exit_code": code}
    _append(what.output, values, end)
    trace = Trace(log.read(what.output))
    if not any(isinstance(each, log.Process) for each in trace.log.records):
        raise UsageError(_why_not(what.program[0], trace))
    named = {each.va: each for each in (*trace.find_in_images(), *trace.find_kernels([path]))}
    _append(what.output, {"kernels": [each.to_json() for each in named.values()]}, end)
    return code


def _why_not(program: str, trace: Trace) -> str:
    """Why nothing was recorded: what the recorder says, or that it never ran."""
    notes = [record.text for record in trace.log.records if isinstance(record, log.Note)]
    if notes:
        return f"{program}: {notes[0]}"
    return (
        f"the recorder was not loaded into {program}: it is no dynamically linked program, or it clears LD_PRELOAD "
        "before it starts one"
    )


def _append(path: Path, values: dict[str, Any], time_ns: int) -> None:
    with path.open("ab") as file:
        file.write(log.facts(values, time_ns))


def _run(what: Recording, library: Path, driver: str) -> int:
    process = subprocess.Popen(list(what.program), env=environment(what, library, driver, dict(os.environ)))
    while True:
        try:
            code = process.wait()
            return 128 - code if code < 0 else code
        except (
            KeyboardInterrupt
        ):  # the program got the signal, too: what it does about it is its own business
            continue


def environment(what: Recording, library: Path, driver: str, base: dict[str, str]) -> dict[str, str]:
    """The program's environment with the recorder in it."""
    branch = driver.split(".")[0]
    flags = (("d", what.doorbell), ("m", what.memory), ("c", what.calls), ("i", what.images))
    wide = "w" if branch.isdigit() and int(branch) >= _WIDE_CHANNEL_SINCE else ""
    variables = dict(base)
    variables["WARPATH_TRACE_LOG"] = str(what.output.resolve())
    variables["WARPATH_TRACE_FLAGS"] = "".join(letter for letter, on in flags if on) + wide
    variables["LD_PRELOAD"] = ":".join(_words(str(library), base.get("LD_PRELOAD", "")))
    if what.measure is not None:
        variables["CUDA_INJECTION64_PATH"] = str(library)
        variables["WARPATH_TRACE_CUPTI"] = str(what.measure)
    return variables


def _words(*words: str) -> Iterator[str]:
    return (word for word in words if word)
