"""The control word: what the compiler tells the scheduler about each instruction.

Bits of the 128-bit instruction, the same from sm_75 to sm_120: wait mask 121:116, read barrier 115:113,
write barrier 112:110 (7 = none), yield side 109 (0 = yield), stall 108:105, reuse flags 124:122.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpath.bits import Bits

REUSE, WAIT, READ_BARRIER, WRITE_BARRIER = Bits(124, 122), Bits(121, 116), Bits(115, 113), Bits(112, 110)
STAY, STALL = Bits(109, 109), Bits(108, 105)
NO_BARRIER = 7
_FIELDS = (REUSE, WAIT, READ_BARRIER, WRITE_BARRIER, STAY, STALL)


@dataclass(frozen=True, slots=True)
class ControlWord:
    """Scheduling fields of one instruction.

    `stall`: cycles before this warp may issue again. `yield_`: prefer another warp next cycle.
    `write_barrier`, `read_barrier`: scoreboard held until the result is written, the sources read; or None.
    `wait_mask`: bit n = wait until scoreboard n is clear. `reuse`: bits 0, 1, 2 = operand A, B, C is kept.
    """

    stall: int
    yield_: bool
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int

    @staticmethod
    def decode(word: int) -> ControlWord:
        """The fields of a 128-bit instruction."""
        write, read = WRITE_BARRIER.get(word), READ_BARRIER.get(word)
        return ControlWord(
            stall=STALL.get(word),
            yield_=STAY.get(word) == 0,
            write_barrier=None if write == NO_BARRIER else write,
            read_barrier=None if read == NO_BARRIER else read,
            wait_mask=WAIT.get(word),
            reuse=REUSE.get(word),
        )

    def encode(self, word: int) -> int:
        """`word` with these fields stored; ValueError when one does not fit or names barrier 7."""
        if NO_BARRIER in (self.write_barrier, self.read_barrier):
            raise ValueError("barrier 7 means none: use None")
        values = (
            self.reuse,
            self.wait_mask,
            NO_BARRIER if self.read_barrier is None else self.read_barrier,
            NO_BARRIER if self.write_barrier is None else self.write_barrier,
            0 if self.yield_ else 1,
            self.stall,
        )
        for bits, value in zip(_FIELDS, values, strict=True):
            word = bits.set(word, value)
        return word

    @property
    def waits(self) -> list[int]:
        """Scoreboards waited for."""
        return [barrier for barrier in range(WAIT.width) if self.wait_mask >> barrier & 1]

    def compact(self) -> str:
        """Fixed columns: wait mask, read barrier, write barrier, yield, stall: `B--2---:R-:W3:Y:S04`."""
        mask = "".join(
            str(barrier) if self.wait_mask >> barrier & 1 else "-" for barrier in range(WAIT.width)
        )
        read = "-" if self.read_barrier is None else self.read_barrier
        write = "-" if self.write_barrier is None else self.write_barrier
        return f"B{mask}:R{read}:W{write}:{'Y' if self.yield_ else '-'}:S{self.stall:02d}"

    def spelled(self) -> str:
        """In words: `wait SB2; stall 4, yield; write SB3; reuse A`."""
        parts: list[str] = []
        if self.waits:
            parts.append("wait " + " ".join(f"SB{barrier}" for barrier in self.waits))
        parts.append(f"stall {self.stall}" + (", yield" if self.yield_ else ""))
        if self.write_barrier is not None:
            parts.append(f"write SB{self.write_barrier}")
        if self.read_barrier is not None:
            parts.append(f"read SB{self.read_barrier}")
        if self.reuse:
            parts.append("reuse " + " ".join(slot for bit, slot in enumerate("ABC") if self.reuse >> bit & 1))
        return "; ".join(parts)
