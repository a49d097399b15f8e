"""The program's process: started with warpath's CUDA libraries in front, watched, and never left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.errors import UsageError
from warpath.host.program import CUDA_LIBRARIES, Program, inspect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOCKET_VARIABLE = "WARPATH_SOCKET"
GRACE_SECONDS = 1.0
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the program ended. `code` is what a shell would report: 128 + n for signal n."""

    code: int
    signal: int | None = None


def exit_status(returncode: int) -> ExitStatus:
    """From `subprocess`' return code, negative for signals."""
    return ExitStatus(128 - returncode, -returncode) if returncode < 0 else ExitStatus(returncode)


def environment(base: Mapping[str, str], program: Program, shim: Path, socket_path: Path) -> dict[str, str]:
    """The program's environment.

    Preloading the libraries under their own sonames makes the dynamic linker take them for whatever the program
    needs, before any run path in the program is looked at. The library path serves dlopen and later programs.
    """
    ordered = sorted(CUDA_LIBRARIES, key=lambda name: name not in program.needed)
    preload = [str(shim / name) for name in ordered if (shim / name).exists()]
    variables = dict(base)
    variables[SOCKET_VARIABLE] = str(socket_path)
    variables["LD_PRELOAD"] = ":".join([*preload, *filter(None, [base.get("LD_PRELOAD")])])
    variables["LD_LIBRARY_PATH"] = ":".join([str(shim), *filter(None, [base.get("LD_LIBRARY_PATH")])])
    return variables


def _adopt_orphans(enable: bool) -> None:
    """Make descendants whose parent ends children of this process, so that they can be found and ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, int(enable), 0, 0, 0)


class Child:
    """The running program. Descendants are recognised by the socket in their environment."""

    def __init__(self, process: subprocess.Popen[bytes], socket_path: Path) -> None:
        self.pid = process.pid
        self.pidfd = os.pidfd_open(process.pid)
        self.stdout = process.stdout
        self._process = process
        self._mark = f"{SOCKET_VARIABLE}={socket_path}".encode()

    @staticmethod
    def start(
        path: Path,
        arguments: Sequence[str],
        shim: Path,
        socket_path: Path,
        variables: Mapping[str, str],
        capture: bool = False,
    ) -> Child:
        """Start the program; UsageError when it is not one that can run. `capture` pipes its stdout."""
        program = inspect(path)
        _adopt_orphans(True)
        try:
            process = subprocess.Popen(
                [str(path.absolute()), *arguments],
                env=environment(variables, program, shim, socket_path),
                stdout=subprocess.PIPE if capture else None,
                bufsize=0,
            )
        except OSError as error:
            _adopt_orphans(False)
            raise UsageError(f"{path} cannot be started: {error.strerror}") from None
        return Child(process, socket_path)

    def wait(self) -> ExitStatus:
        """How the program ended, waiting for that."""
        return exit_status(self._process.wait())

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """After Ctrl-C: the terminal has told the program too, so let it end by itself, else pass the signal on."""
        for send in (False, True):
            if send and self.running:
                self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS / 2)

    def stop(self) -> ExitStatus:
        """End the program if it still runs, first asking, then forcing."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                self._process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return self.wait()

    def close(self) -> None:
        """Reap the program and end whatever it left running."""
        self.stop()
        until = time.monotonic() + GRACE_SECONDS
        while self._kill_orphans() and time.monotonic() < until:
            time.sleep(0.005)
        _adopt_orphans(False)
        os.close(self.pidfd)
        if self.stdout is not None:
            self.stdout.close()

    def _kill_orphans(self) -> bool:
        """Kill the program's descendants that are now our children; whether there were any."""
        found = False
        for pid in _children():
            with contextlib.suppress(OSError):
                if self._mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found = True
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        return found


def _children() -> list[int]:
    """Direct children of this process, whichever thread started them."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found
