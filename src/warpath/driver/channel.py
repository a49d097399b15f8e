"""A channel as user space sees it: a ring of segment pointers, a pushbuffer, USERD, a token and a doorbell.

To submit, the driver copies a segment into pushbuffer space, writes one ring entry, advances GP_PUT in USERD
and stores the channel's token in the doorbell. Every segment ends with the release of a rising payload to the
channel's tracking semaphore: that word tells which segments are finished, and which space may be used again.

Sizes and distances are those of the real driver as captured: 1024 entries, USERD right behind the ring,
channels 0x3000 apart, 2 MiB of pushbuffer each, semaphores 16 bytes apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from warpath.command import gpfifo
from warpath.driver.address_space import Memory
from warpath.driver.journal import Journal, Submission

ENTRIES = 1024
RING_STRIDE = 0x3000
PUSHBUFFER_BYTES = 2 << 20
SEMAPHORE_STRIDE = 16
_WORD = 4
_LATCHES = 8


class Doorbell(Protocol):
    """The model GPU as far as submission needs it."""

    def add_channel(self, token: int, ring_va: int, entries: int, userd_va: int) -> object:
        """What the resource manager puts into the channel's instance memory."""
        ...

    def doorbell(self, token: int, at_ns: int) -> None:
        """A store to the doorbell register at a time of the host; returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class Fence:
    """Work of a channel up to and including the segment that releases `payload`."""

    channel: Channel
    payload: int

    @property
    def done(self) -> bool:
        """Whether the GPU has released the payload."""
        return self.channel.completed >= self.payload


class Channel:
    """One channel. `wait` is called when ring or pushbuffer are full and returns when the fence is done."""

    def __init__(
        self,
        name: str,
        token: int,
        memory: Memory,
        gpu: Doorbell,
        journal: Journal,
        ring_va: int,
        pushbuffer_va: int,
        semaphore_va: int,
        wait: Callable[[Fence], None],
        host_ns: Callable[[], int],
        copies: bool = False,
        first_latch: int = 0,
    ) -> None:
        self.name = name
        self.copies = copies  # a copy engine's channel, which releases with that engine's methods
        self.token = token
        self.ring_va = ring_va
        self.userd_va = ring_va + ENTRIES * gpfifo.ENTRY_BYTES
        self.pushbuffer_va = pushbuffer_va
        self.semaphore_va = semaphore_va
        self.payload = 0  # of the last segment submitted
        self._first_latch = first_latch
        self._launches = 0
        self._memory = memory
        self._gpu = gpu
        self._journal = journal
        self._wait = wait
        self._host_ns = host_ns
        self._rung = True
        self._held = False  # the doorbell is held back
        self._put = 0
        self._head = 0  # bytes of the pushbuffer used so far, over all its rounds
        self._seen = 0  # payload read last: it only rises, so a satisfied fence needs no second read
        self._busy: deque[tuple[int, int]] = deque()  # (payload, start in bytes used) of segments in flight
        gpu.add_channel(token, ring_va, ENTRIES, self.userd_va)

    @property
    def completed(self) -> int:
        """Payload of the last segment that the GPU has finished."""
        if self._seen < self.payload:
            self._seen = int.from_bytes(self._memory.read(self.semaphore_va, _WORD), "little")
        return self._seen

    @property
    def idle(self) -> bool:
        """Whether everything submitted is finished."""
        return self.completed >= self.payload

    @property
    def next_payload(self) -> int:
        """What the next segment must release to `semaphore_va`."""
        return self.payload + 1

    def next_latch(self) -> int:
        """The latch id that the next launch arrives at: a channel has eight, used in turn."""
        latch = self._first_latch + self._launches % _LATCHES
        self._launches += 1
        return latch

    def submit(self, segment: bytes, what: str, launch: int | None = None) -> Fence:
        """Hand one segment to the GPU; it must release `next_payload`. Waits only when there is no room."""
        self._wait_for_entry()
        va = self._place(len(segment))
        self._memory.write(va, segment)
        entry = gpfifo.Entry(va, len(segment) // _WORD).to_bytes()
        index = self._put
        self._memory.write(self.ring_va + index * gpfifo.ENTRY_BYTES, entry)
        self._put = (index + 1) % ENTRIES
        self.payload += 1
        self._busy.append((self.payload, self._head - len(segment)))
        self._journal.add_submission(
            Submission(
                serial=self._journal.submitted,
                channel=self.name,
                token=self.token,
                index=index,
                entry=entry,
                va=va,
                dwords=len(segment) // _WORD,
                payload=self.payload,
                what=what,
                launch=launch,
            )
        )
        self._rung = False
        if not self._held:
            self.ring()
        return Fence(self, self.payload)

    def hold(self) -> None:
        """Announce nothing before `ring`."""
        self._held = True

    def ring(self) -> None:
        """Advance GP_PUT over all that was submitted and store the token in the doorbell, unless that was done."""
        self._held = False
        if self._rung:
            return
        self._rung = True
        self._memory.write(self.userd_va + gpfifo.USERD_GP_PUT, self._put.to_bytes(_WORD, "little"))
        self._gpu.doorbell(self.token, self._host_ns())

    def _wait_for_entry(self) -> None:
        """A full ring looks empty, so one entry stays free: wait until the oldest segment is finished, also when the
        GPU is ahead of the host's time and the segment is done.
        """
        if self.payload >= ENTRIES - 1 and not self._held:
            self._wait(Fence(self, self.payload - ENTRIES + 2))
        self._reclaim()
        while len(self._busy) >= ENTRIES - 1:
            self._wait(Fence(self, self._busy[0][0]))
            self._reclaim()

    def _reclaim(self) -> None:
        done = self.completed
        while self._busy and self._busy[0][0] <= done:
            self._busy.popleft()

    def _place(self, size: int) -> int:
        """Address of `size` contiguous free bytes of the pushbuffer; waits for old segments if it must."""
        if size > PUSHBUFFER_BYTES:
            raise ValueError(f"segment of {size} bytes exceeds the pushbuffer of {PUSHBUFFER_BYTES}")
        rest = PUSHBUFFER_BYTES - self._head % PUSHBUFFER_BYTES
        start = self._head if size <= rest else self._head + rest
        while self._busy and start + size - self._busy[0][1] > PUSHBUFFER_BYTES:
            self._wait(Fence(self, self._busy[0][0]))
            self._reclaim()
        self._head = start + size
        return self.pushbuffer_va + start % PUSHBUFFER_BYTES
