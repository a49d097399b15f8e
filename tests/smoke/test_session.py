"""Whole sessions: a real process, the real shim and server, with a stand-in for the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpath.driver.host_clock import HostClock
from warpath.driver.journal import Journal
from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.gpu.launch_path import TIMELESS
from warpath.host import server
from warpath.host.arena import HostArena
from warpath.host.process import ExitStatus
from warpath.host.session import Session

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "src" / "shim"
CLIENT = ROOT / "tests" / "data" / "host" / "client.c"
LIBRARIES = {
    "libcudart.so.13": ("runtime.c", "libcudart13.map", "-DWP_LIBRARY=13"),
    "libcudart.so.12": ("runtime.c", "libcudart12.map", "-DWP_LIBRARY=12"),
    "libcuda.so.1": ("driver.c", "libcuda.map", "-DWP_LIBRARY=0"),
}


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    for name, (source, version_map, define) in LIBRARIES.items():
        flags = [
            "-std=gnu17",
            "-D_GNU_SOURCE",
            "-O1",
            "-fPIC",
            "-fvisibility=hidden",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]
        link = ["-shared", f"-Wl,-soname,{name}", f"-Wl,--version-script,{version_map}", "-lpthread", "-ldl"]
        command = ["gcc", *flags, define, source, "wire.c", "-o", str(folder / name), *link]
        subprocess.run(command, cwd=SHIM, check=True)
    return folder


@pytest.fixture(scope="session")
def client(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("client") / "client"
    # A run path with another libcudart on it must not win.
    other = program.parent / "other"
    other.mkdir()
    (other / "libcudart.so.13").write_bytes((shim / "libcudart.so.13").read_bytes()[:1000])
    link = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{other}", f"-L{shim}", "-l:libcudart.so.13", "-lpthread"]
    subprocess.run(["gcc", "-O1", str(CLIENT), "-o", str(program), *link], check=True)
    return program


class StandIn:
    """The driver as far as these programs use it: host functions run when somebody synchronises."""

    def __init__(self, arena: HostArena) -> None:
        self.spec = spec.load("rtx4090")
        self.sticky_error = None
        self.streams = self
        self.legacy = object()
        self.memory_manager = self
        self.host = HostClock(TIMELESS)
        self.journal = Journal()
        self.on_output: object = None
        self.poll: object = None
        self._arena = arena
        self._calls: list[Callable[[], None]] = []

    def advance(self) -> bool:
        return False

    def synchronize(self) -> None:
        calls, self._calls = self._calls, []
        for call in calls:
            call()

    def launch_host_function(self, _stream: object, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def malloc_host(self, _size: int) -> int:
        os.pwrite(self._arena.fd, b"from the server\0", 4096)
        return self._arena.base + 4096


Run = Callable[..., tuple[ExitStatus, str, Session]]


@pytest.fixture
def run(shim: Path, client: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    folders: list[Path] = []

    make = server.private_directory

    def private_directory() -> Path:
        folders.append(make())
        return folders[-1]

    monkeypatch.setattr(server, "private_directory", private_directory)

    def start(
        *arguments: str, program: Path = client, timeout: float = 30
    ) -> tuple[ExitStatus, str, Session]:
        children = own_children()
        arena = HostArena()
        driver: Any = StandIn(arena)
        session = Session(program, arguments, driver, arena, shim, capture=True, timeout=timeout)
        try:
            status = session.run()
        finally:
            arena.close()
        assert not any(folder.exists() for folder in folders)
        assert own_children() == children
        return status, session.stdout.decode(), session

    return start


def own_children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_a_program_is_served_and_its_calls_are_logged(run: Run) -> None:
    status, output, session = run()
    assert (status, output) == (ExitStatus(0), "1 devices, error 0, no error\n")
    assert [record.call for record in session.api] == ["cudaGetDeviceCount", "cudaGetErrorString"]
    assert session.api[1].to_report(session.runtime.started_ns)["args"] == [0]


@pytest.mark.parametrize("code", [0, 3, 255])
def test_exit_code(run: Run, code: int) -> None:
    assert run("exit", str(code))[0] == ExitStatus(code)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_death_by_signal_is_reported_as_a_shell_does(run: Run, number: int) -> None:
    assert run("raise", str(int(number)))[0] == ExitStatus(128 + number, number)


def test_last_error_belongs_to_the_thread(run: Run) -> None:
    assert run("threads")[1] == "0 101 101 101 101 101 101 101 main 0\n"


def test_a_child_forked_after_first_use_is_refused(run: Run) -> None:
    assert run("fork", "1")[1] == "child: last 0 count 0 sync 3\nparent: last 101\n"


def test_a_child_forked_before_first_use_is_served(run: Run) -> None:
    assert run("fork", "0")[1] == "child: last 0 count 0 sync 0\nparent: last 0\n"


def test_host_functions_run_on_a_thread_of_their_own_and_may_call_back(run: Run) -> None:
    status, output, session = run("callbacks")
    assert (status.code, output) == (0, "before 0 after 3\n")
    threads = {record.thread for record in session.api if record.call == "cudaGetDeviceCount"}
    assert len(threads) == 2


def test_exit_inside_a_callback_ends_the_session(run: Run) -> None:
    assert run("exit-in-callback", "7")[0] == ExitStatus(7)


def test_noise_ends_only_its_connection(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("garbage")[1] == "still served: 0\n"
    assert "a frame of kind" in capfd.readouterr().err


def test_an_unsupported_call_gives_801_and_is_named_once(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("unknown")[1] == "801 801 operation not supported\n"
    assert capfd.readouterr().err.count("cudaMallocArray") == 1


def test_the_arena_has_one_address_on_both_sides(run: Run) -> None:
    assert run("shared")[1] == "from the server and the program\n"


def test_orphans_do_not_stay(run: Run) -> None:
    started = time.monotonic()
    assert run("orphan")[0].code == 0
    assert time.monotonic() - started < 10


def test_timeout_ends_the_program(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("sleep", timeout=0.3)[0] == ExitStatus(124)
    assert "ended after 0.3 s" in capfd.readouterr().err


def test_interrupt_ends_the_program(run: Run) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    status, _, _ = run("sleep")
    timer.join()
    assert status == ExitStatus(130, signal.SIGINT)


def test_being_terminated_ends_the_program_too(run: Run) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    status, _, _ = run("sleep")
    timer.join()
    assert status == ExitStatus(143, signal.SIGTERM)


def test_without_a_server_the_program_is_told_how_to_start(shim: Path, client: Path) -> None:
    variables = {"LD_PRELOAD": str(shim / "libcudart.so.13"), "PATH": os.environ["PATH"]}
    done = subprocess.run([client], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "0 devices, error 3, initialization error (no warpath server)\n"
    assert done.stderr.count("warpath run") == 1
    assert done.stderr.count("\n") == 1


STRANGER = """
import os, socket, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
s = socket.socket(socket.AF_UNIX)
s.connect(open(sys.argv[1]).read())
try:
    s.sendall(b"x" * 40)
    answer = s.recv(10)
except OSError:
    answer = b""
open(sys.argv[2] + ".new", "w").write(f"answer {answer}")
os.rename(sys.argv[2] + ".new", sys.argv[2])
"""


def test_a_strange_process_is_not_served(client: Path, shim: Path, tmp_path: Path) -> None:
    """A process that the server did not start gets no answer, even with the socket's path."""
    path, answer = tmp_path / "path", tmp_path / "answer"
    # Forked off so that it belongs to init and not to us.
    subprocess.run(["setsid", "-f", sys.executable, "-c", STRANGER, str(path), str(answer)], check=True)
    arena = HostArena()
    driver: Any = StandIn(arena)
    session = Session(client, ["sleep"], driver, arena, shim, timeout=60)

    def tell() -> None:
        while not session.api or session.runtime.server is None:
            time.sleep(0.01)
        (tmp_path / "path.new").write_text(str(session.runtime.server.path))
        (tmp_path / "path.new").rename(path)
        while not answer.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    assert session.run().code == 143
    arena.close()
    assert answer.read_text() == "answer b''"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"#!/bin/sh\nexit 0\n", "is not an ELF program"),
        (b"\x7fELF", "cut off"),
    ],
)
def test_what_is_no_program_is_refused(run: Run, tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "program"
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o755)
    with pytest.raises(UsageError, match=message):
        run(program=path)


def test_a_program_without_cuda_is_refused(run: Run, tmp_path: Path) -> None:
    source, program = tmp_path / "plain.c", tmp_path / "plain"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", str(source), "-o", str(program)], check=True)
    with pytest.raises(UsageError, match="not a CUDA program"):
        run(program=program)


def test_a_runtime_linked_in_is_refused_with_advice(run: Run, tmp_path: Path) -> None:
    source, program = tmp_path / "static.c", tmp_path / "static"
    source.write_text(
        'static const char fat[16] __attribute__((used, section(".nv_fatbin"))) = "x";\n'
        "void __cudaRegisterFatBinary(void) {}\nint main(void) { return 0; }\n"
    )
    subprocess.run(["gcc", str(source), "-o", str(program)], check=True)
    with pytest.raises(UsageError, match="nvcc -cudart shared"):
        run(program=program)
