"""Source, PTX and SASS of a launch as three lists whose rows share a key: the source line they come from."""

from __future__ import annotations

from dataclasses import dataclass

from warpath.isa.control import ControlWord
from warpath.report.model import CompileInfo, InstructionInfo, Launch

AROUND = 4  # source lines shown beside one that has code
MOST_SASS = 1500
MOST_PTX = 1500
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the program's text; `key` is None when no code comes from it, `percent` its share of warp cycles."""

    number: int
    text: str
    key: int | None
    percent: float | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's lines around those that have code, in runs without a gap; only their numbers when `known` is false."""

    name: str
    known: bool
    runs: list[list[SourceLine]]


@dataclass(frozen=True, slots=True)
class PtxLine:
    """A line of PTX."""

    text: str
    key: int | None


@dataclass(frozen=True, slots=True)
class SassLine:
    """An instruction: `detail` spells out its control word and what it cost."""

    pc: int
    text: str
    control: str
    executed: int
    percent: float | None
    key: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Code:
    """The three lists; each has a note saying what is missing or left out."""

    source: list[SourceFile]
    source_note: str
    ptx: list[PtxLine]
    ptx_note: str
    sass: list[SassLine]
    sass_note: str


def code(launch: Launch, compiled: CompileInfo | None) -> Code:
    """The lists of one launch."""
    kernel = compiled.kernels.get(launch.mangled) if compiled else None
    parts = kernel.ptx if kernel else []
    places = {_place(i): 0 for i in launch.instructions} | {(part.file, part.line): 0 for part in parts}
    keys = {place: key for key, place in enumerate(sorted(place for place in places if place[1]))}
    total = sum(sum(i.stalls.values()) for i in launch.instructions)
    ptx = [PtxLine(text, keys.get((part.file, part.line))) for part in parts for text in part.text]
    left_out = (kernel.ptx_left_out if kernel else 0) + max(len(ptx) - MOST_PTX, 0)
    return Code(
        source=_source(launch, compiled, keys, total),
        source_note="" if compiled else "Given as a finished program: its source is not known.",
        ptx=ptx[:MOST_PTX],
        ptx_note=_ptx_note(compiled, ptx, left_out),
        sass=[_sass(i, keys.get(_place(i)), total) for i in launch.instructions[:MOST_SASS]],
        sass_note=_sass_note(launch),
    )


def _place(instruction: InstructionInfo) -> Place:
    return instruction.file, instruction.line


def _ptx_note(compiled: CompileInfo | None, ptx: list[PtxLine], left_out: int) -> str:
    if compiled is None:
        return "Given as a finished program: its PTX is not known."
    if not ptx:
        return "The PTX of this kernel was not kept."
    return f"{left_out} further lines are left out." if left_out else ""


def _sass_note(launch: Launch) -> str:
    if not launch.instructions:
        return "The code of this launch is not known."
    over = len(launch.instructions) - MOST_SASS
    return f"{over} further instructions are left out; `warpath sass` lists all." if over > 0 else ""


def _source(
    launch: Launch, compiled: CompileInfo | None, keys: dict[Place, int], total: int
) -> list[SourceFile]:
    costs: dict[Place, int] = {}
    for instruction in launch.instructions:
        place = _place(instruction)
        costs[place] = costs.get(place, 0) + sum(instruction.stalls.values())
    texts = compiled.sources if compiled else {}
    found: list[SourceFile] = []
    for file in dict.fromkeys(file for file, _ in keys):
        used = sorted(number for name, number in keys if name == file)
        text = texts[file].splitlines() if file in texts else []
        runs = [
            [
                SourceLine(
                    number,
                    text[number - 1] if 0 < number <= len(text) else "",
                    keys.get((file, number)),
                    100 * costs.get((file, number), 0) / total if total and (file, number) in keys else None,
                )
                for number in run
            ]
            for run in _runs(used, len(text))
        ]
        found.append(SourceFile(file, file in texts, runs))
    cost = {file: sum(part for (name, _), part in costs.items() if name == file) for file, _ in keys}
    return sorted(found, key=lambda each: (not each.known, -cost[each.name]))


def _runs(used: list[int], last: int) -> list[list[int]]:
    """Numbers of `used` and, where the text is known (`last` lines), those around them, cut at gaps."""
    if not last:
        return [used]
    around = {n for number in used for n in range(number - AROUND, number + AROUND + 1) if 0 < n <= last}
    runs: list[list[int]] = []
    for number in sorted(around):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _sass(i: InstructionInfo, key: int | None, total: int) -> SassLine:
    return SassLine(
        pc=i.pc,
        text=i.sass,
        control=i.control,
        executed=i.executed,
        percent=100 * sum(i.stalls.values()) / total if total else None,
        key=key,
        detail=_detail(i),
    )


def _detail(i: InstructionInfo) -> str:
    """Control word in words, who raises what it waits for, what its requests were like, what its warps waited for."""
    word = ControlWord(i.stall, i.yield_, i.write_barrier, i.read_barrier, i.wait_mask, reuse=0)
    facts = [word.spelled()]
    for board, setters in i.producers.items():
        if setters:
            facts.append(f"{board} is raised at {', '.join(f'{pc:04x}' for pc in setters)}")
    facts.append(f"ran {i.executed:,} times in warps, {i.thread_executed:,} in threads")
    if i.requests:
        passes = (
            f"{i.sectors / i.requests:.3g} sectors"
            if i.sectors
            else f"{i.wavefronts / i.requests:.3g} wavefronts"
        )
        facts.append(f"{passes} a request")
    cycles = sum(i.stalls.values())
    worst = sorted(i.stalls.items(), key=lambda item: -item[1])[:3]
    if cycles:
        facts.append("cycles: " + ", ".join(f"{reason} {100 * part / cycles:.0f}%" for reason, part in worst))
    return "; ".join(facts)
