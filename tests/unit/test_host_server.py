"""The server against clients that send anything: it keeps serving those that keep to the protocol."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpath.host import server as server_module
from warpath.host.connection import Connection
from warpath.host.protocol import (
    HEADER,
    Hello,
    Kind,
    ProtocolError,
    Range,
    frame,
    pack_call,
    pack_hello,
    parse_call,
    words,
)
from warpath.host.server import Server, descends


class Echo:
    """Replies with the number of arguments; `peek` first reads memory of the caller."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.lost_connections = 0

    def admit(self, connection: Connection) -> Sequence[Range]:
        return ()

    def urgent(self, connection: Connection) -> bool:
        return False

    def call(self, connection: Connection, payload: bytes) -> bool:
        name, arguments = parse_call(payload)
        if name == "peek":
            connection.reply(int.from_bytes(connection.read(arguments[0], 4), "little"))
        else:
            connection.reply(len(arguments))
        return True

    def lost(self, connection: Connection) -> None:
        self.lost_connections += 1

    def idle(self) -> bool:
        return False

    def complain(self, message: str) -> None:
        self.complaints.append(message)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(Echo(), -1)
    server.root = os.getpid()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server
    server.ended = True
    connect(server).close()  # wakes the loop
    thread.join(5)
    assert not thread.is_alive()
    server.close()
    assert not server.directory.exists()


def connect(server: Server) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(5)
    client.connect(str(server.path))
    return client


HELLO = frame(Kind.HELLO, pack_hello(Hello(13, os.getpid(), 1, False, 7)))
ANSWER = frame(Kind.ANSWER, words(0))


def receive(client: socket.socket) -> tuple[int, bytes]:
    header = client.recv(HEADER.size, socket.MSG_WAITALL)
    if len(header) < HEADER.size:
        return 0, b""
    kind, size = HEADER.unpack(header)
    return kind, client.recv(size, socket.MSG_WAITALL) if size else b""


def greeted(server: Server) -> socket.socket:
    client = connect(server)
    client.sendall(HELLO)
    assert receive(client)[0] == Kind.WELCOME
    client.sendall(ANSWER)
    assert receive(client) == (Kind.REPLY, words(0))
    return client


def serves(server: Server) -> bool:
    with greeted(server) as client:
        client.sendall(frame(Kind.CALL, pack_call("three", [1, 2, 3])))
        return receive(client) == (Kind.REPLY, words(3))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), st.binary(min_size=1, max_size=300))
def test_noise_never_stops_the_server(server: Server, polite: bool, noise: bytes) -> None:
    client = greeted(server) if polite else connect(server)
    with client:
        client.sendall(noise)
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert serves(server)


FRAMES = st.builds(
    lambda kind, payload: frame(kind, payload),
    st.sampled_from([Kind.HELLO, Kind.CALL, Kind.ANSWER]),
    st.one_of(
        st.binary(max_size=64),
        st.builds(
            pack_call, st.sampled_from(["peek", "other"]), st.lists(st.integers(0, 9), min_size=1, max_size=4)
        ),
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FRAMES, max_size=6))
def test_well_formed_frames_in_any_order_never_stop_the_server(server: Server, frames: list[bytes]) -> None:
    with greeted(server) as client:
        client.sendall(b"".join(frames))
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert serves(server)


def test_a_refused_client_is_told_why(server: Server) -> None:
    with connect(server) as client:
        client.sendall(frame(Kind.HELLO, pack_hello(Hello(13, os.getpid(), 1, False, 7), version=99)))
        kind, text = receive(client)
    assert kind == Kind.REFUSE
    assert b"protocol 99" in text


def test_a_client_cannot_claim_to_be_another_process(server: Server) -> None:
    with connect(server) as client:
        client.sendall(frame(Kind.HELLO, pack_hello(Hello(13, 1, 1, False, 7))))
        assert receive(client)[0] == Kind.REFUSE


def test_a_request_during_a_call_is_answered_on_the_same_connection(server: Server) -> None:
    with greeted(server) as client:
        client.sendall(frame(Kind.CALL, pack_call("peek", [0x1000])))
        assert receive(client) == (Kind.READ, words(0x1000, 4))
        client.sendall(frame(Kind.ANSWER, words(0) + b"\x05\0\0\0"))
        assert receive(client) == (Kind.REPLY, words(5))


def test_the_wrong_amount_of_data_ends_the_connection(server: Server) -> None:
    with greeted(server) as client:
        client.sendall(frame(Kind.CALL, pack_call("peek", [0x1000])))
        receive(client)
        client.sendall(frame(Kind.ANSWER, words(0) + b"\x05"))
        assert receive(client)[0] == Kind.REFUSE
    assert serves(server)


def test_the_directory_is_private(server: Server) -> None:
    assert server.directory.stat().st_mode & 0o777 == 0o700


def test_descent_is_by_process_tree() -> None:
    assert descends(os.getpid(), os.getppid())
    assert not descends(os.getppid(), os.getpid())


def test_a_string_of_pieces_is_read_in_frames_that_fit() -> None:
    ours, theirs = socket.socketpair()
    connection = Connection(ours, lambda: True)
    pieces = [(0x1000, 1 << 19), (0x2000, 1 << 19), (0x3000, 8)]

    def answer() -> None:
        for size in (1 << 19, (1 << 19) + 8):
            kind, _ = receive(theirs)
            assert kind == Kind.GATHER
            theirs.sendall(frame(Kind.ANSWER, words(0) + bytes(size)))

    thread = threading.Thread(target=answer)
    thread.start()
    assert [len(data) for data in connection.gather(pieces)] == [size for _, size in pieces]
    thread.join()
    with pytest.raises(ProtocolError, match="too large"):
        connection.gather([(0, 1 << 20)])
    ours.close()
    theirs.close()


def test_directories_of_killed_servers_are_removed_and_others_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(server_module.os, "access", lambda *_: False)  # no /dev/shm
    killed, serving, young = (server_module.private_directory() for _ in range(3))
    (killed / "s").touch()
    lock = server_module.lock_directory(serving)
    for old in (killed, serving):
        os.utime(old, (0, 0))
    new = server_module.private_directory()
    os.close(lock)
    assert set(tmp_path.iterdir()) == {serving, young, new}
    assert new.stat().st_mode & 0o777 == 0o700
