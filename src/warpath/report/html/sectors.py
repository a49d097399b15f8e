"""One request of a memory instruction: which bytes of which sectors its lanes asked for."""

from __future__ import annotations

from dataclasses import dataclass

from warpath.report.model import InstructionInfo, Launch
from warpath.report.traffic import KINDS, opcode_of, width

LINE, SECTOR, BANK = 128, 32, 4  # bytes
MOST_LINES = 32  # rows drawn for one request: a warp touches at most as many unless lanes straddle
MOST_MAPS = 48  # of one launch
_PX = 4  # drawing units a byte
_ROW = 26


@dataclass(frozen=True, slots=True)
class Cell:
    """One lane's bytes in one line, in drawing units; several lanes may ask for the same."""

    x: int
    y: int
    width: int
    lane: int
    lanes: str
    shade: int  # 0 to 100 with the lane number


@dataclass(frozen=True, slots=True)
class LineRow:
    """A 128-byte line that the request touches, with the sectors it needs."""

    address: int
    y: int
    sectors: list[int]


@dataclass(frozen=True, slots=True)
class RequestMap:
    """The drawing of one request. `asked` counts distinct bytes, `fetched` bytes of whole sectors."""

    pc: int
    sass: str
    kind: str
    shared: bool
    lanes: int
    rows: list[LineRow]
    cells: list[Cell]
    sectors: int
    asked: int
    fetched: int
    left_out: int
    height: int


def maps(launch: Launch) -> list[RequestMap]:
    """A map for each memory instruction with a recorded request, in program order; at most `MOST_MAPS`, of those that
    moved most.
    """
    most = sorted(_recorded(launch), key=lambda code: -(code.sectors + code.wavefronts))[:MOST_MAPS]
    return [_map(code) for code in sorted(most, key=lambda code: code.pc)]


def not_drawn(launch: Launch) -> int:
    """How many instructions with a recorded request have no map."""
    return max(len(_recorded(launch)) - MOST_MAPS, 0)


def _recorded(launch: Launch) -> list[InstructionInfo]:
    return [code for code in launch.instructions if any(address >= 0 for address in code.sample)]


def _map(code: InstructionInfo) -> RequestMap:
    opcode = opcode_of(code.sass)
    size = width(opcode)
    lanes = [(lane, address) for lane, address in enumerate(code.sample) if address >= 0]
    pieces: dict[tuple[int, int, int], list[int]] = {}  # (line, first byte in it, bytes) -> lanes
    asked: set[int] = set()
    for lane, address in lanes:
        asked.update(range(address, address + size))
        start = address
        while start < address + size:
            end = min(address + size, (start // LINE + 1) * LINE)
            pieces.setdefault((start // LINE, start % LINE, end - start), []).append(lane)
            start = end
    lines = sorted({line for line, _, _ in pieces})
    place = {line: _ROW * at for at, line in enumerate(lines[:MOST_LINES])}
    sectors = sorted({byte // SECTOR for byte in asked})
    rows = [
        LineRow(line * LINE, y, [s % (LINE // SECTOR) for s in sectors if s // (LINE // SECTOR) == line])
        for line, y in place.items()
    ]
    cells = [
        Cell(_PX * offset, place[line], _PX * count, who[0], _lanes(who), round(100 * who[0] / 31))
        for (line, offset, count), who in sorted(pieces.items())
        if line in place
    ]
    return RequestMap(
        pc=code.pc,
        sass=code.sass,
        kind=KINDS.get(opcode.split(".")[0], "memory"),
        shared="shared" in KINDS.get(opcode.split(".")[0], ""),
        lanes=len(lanes),
        rows=rows,
        cells=cells,
        sectors=len(sectors),
        asked=len(asked),
        fetched=SECTOR * len(sectors),
        left_out=len(lines) - len(place),
        height=_ROW * len(place),
    )


def _lanes(lanes: list[int]) -> str:
    return f"lane {lanes[0]}" if len(lanes) == 1 else f"lanes {', '.join(map(str, lanes))}"
