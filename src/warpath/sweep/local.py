"""Run points on this machine, each in a process of its own, so that what one does cannot harm another."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from warpath.errors import WarpathError
from warpath.report import json as report_json
from warpath.report.model import Report
from warpath.sweep.points import Point

GRACE_SECONDS = 5.0  # for an interrupted point to end its program
_LAST_WORDS = 1 << 16  # bytes of stderr that are searched for a reason
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a point went: the bytes of its report, or the reason why there is none."""

    report: bytes
    reason: str = ""


class Processes:
    """The processes of a sweep on this machine. `run` may be called from several threads."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, point: Point) -> Outcome:
        """Run one point to its end; whatever goes wrong becomes the reason."""
        with tempfile.TemporaryDirectory(prefix="warpath-point-") as folder:
            file, errors = Path(folder) / "report.json", Path(folder) / "stderr"
            words = ["explain", *point.options, "--json", str(file), "--", *point.arguments]
            try:
                with errors.open("wb") as stderr:
                    code = self._wait(
                        [sys.executable, "-m", "warpath", *words], point.folder, stderr.fileno()
                    )
            except OSError as error:
                return Outcome(b"", f"cannot run in {point.folder}: {error.strerror}")
            return _outcome(code, file, _tail(errors))

    def stop(self) -> None:
        """End what is running, as Ctrl-C in its terminal would, and let nothing start any more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGINT)
        for process in running:
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)

    def _wait(self, command: list[str], folder: str, stderr: int) -> int:
        with self._lock:
            if self._stopped:
                return -signal.SIGINT
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,  # so that `stop` reaches compilers and the program too
            )
            self._running.add(process)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def run_local(points: Sequence[Point], jobs: int) -> Iterator[tuple[Point, Outcome]]:
    """Run `points`, `jobs` at a time; each with its outcome as it ends. Closing the iterator ends the rest."""
    processes = Processes()
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="point")
    try:
        futures = {pool.submit(processes.run, point): point for point in points}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.stop()
        pool.shutdown()


def run_point(point: Point) -> Outcome:
    """One point alone, for a worker of a cluster."""
    return Processes().run(point)


def _outcome(code: int, file: Path, words: list[str]) -> Outcome:
    if not file.is_file():
        return Outcome(b"", _shortened(_refusal(code, words)))
    try:
        report = report_json.read(file)
    except WarpathError as error:
        return Outcome(b"", _shortened(str(error)))
    reason = _trouble(report, words)
    return Outcome(b"", _shortened(reason)) if reason else Outcome(file.read_bytes())


def _refusal(code: int, words: list[str]) -> str:
    """Why there is no report: warpath's own line, or how its process ended."""
    if said := _said(words):
        return said
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"{how}: {words[-1]}" if words else how


def _named(code: int) -> str:
    """`134 (SIGABRT)`: a program that a signal ended has 128 added, as in a shell."""
    try:
        return f"{code} ({signal.Signals(code - 128).name})"
    except ValueError:
        return str(code)


def _said(words: list[str]) -> str:
    """The last line that is warpath's own."""
    return next((w.removeprefix("warpath: ") for w in reversed(words) if w.startswith("warpath: ")), "")


def _trouble(report: Report, words: list[str]) -> str:
    """Why a report is not one of a point that finished; empty when it is."""
    if report.faults:
        fault = report.faults[0]
        text = fault.message or fault.title or fault.kind.replace("_", " ")
        return f"{text} ({fault.kernel})" if fault.kernel and fault.kernel not in text else text
    if code := report.program.exit_code:
        lines = words or report.program.stdout.split("\n")
        said = next((line.removeprefix("warpath: ") for line in reversed(lines) if line.strip()), "")
        return f"the program's exit code is {_named(code)}{f': {said}' if said else ''}"
    if not report.launches:
        said = _said(words)
        return f"no launch to report{f': {said}' if said else ''}"
    return ""


def _tail(path: Path) -> list[str]:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _LAST_WORDS, 0))
        text = file.read().decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _shortened(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 3]}..."
