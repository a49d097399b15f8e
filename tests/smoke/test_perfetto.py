"""`--perfetto`: the file holds what the report holds, and is what the package's schema says it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tests.perfetto_kit import Tracks, parse
from tests.smoke.programs import warpath
from warpath.report import json as report_json
from warpath.report import perfetto
from warpath.report.model import Launch, Overhead, Report

ROOT = Path(__file__).resolve().parents[2]
GPU = "GPU rtx4090 (modelled; the GPU's own clock)"
HOST = "host calls (measured; this machine's clock)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("perfetto")
    paths = folder / "report.json", folder / "report.pftrace"
    outcome = warpath("explain", ROOT / "examples/vadd.cu", "--json", paths[0], "--perfetto", paths[1])
    assert outcome.code == 0, outcome.stderr
    return paths


@pytest.fixture(scope="module")
def report(files: tuple[Path, Path]) -> Report:
    return report_json.read(files[0])


@pytest.fixture(scope="module")
def tracks(files: tuple[Path, Path]) -> Tracks:
    return parse(files[1].read_bytes())


@pytest.fixture(scope="module")
def launch(report: Report) -> Launch:
    (launch,) = report.launches
    return launch


def integral(values: list[tuple[int, float]]) -> float:
    """Value times ns, each value holding until the next."""
    return sum(value * (then - at) for (at, value), (then, _) in pairwise(values))


def test_the_kernel_is_where_the_gpu_s_clock_says_with_its_stages_inside(
    tracks: Tracks, launch: Launch
) -> None:
    assert launch.start_ns is not None
    assert launch.duration_ns is not None
    assert launch.time is not None
    kernel, *stages = tracks.slices[tracks.at(f"kernels, channel {launch.submission.channel:#x}")]
    assert (kernel.name, kernel.start) == (launch.kernel, launch.start_ns)
    assert kernel.end - kernel.start == launch.duration_ns == kernel.words["duration_ns"]
    lengths = {stage.name: stage.end - stage.start for stage in stages}
    time = launch.time
    assert lengths == {"set up": time.front_ns, "execution": time.execution_ns, "drain": time.drain_ns}
    ((rung, name),) = tracks.instants[tracks.at(f"submissions, channel {launch.submission.channel:#x}")]
    assert rung <= launch.start_ns
    assert name.startswith(f"doorbell {launch.submission.doorbell:#x}")
    front = tracks.slices[f"{GPU}/front end"]
    assert front[-1].end == launch.start_ns + time.front_ns


def test_counters_are_those_of_the_report(tracks: Tracks, launch: Launch) -> None:
    timeline = launch.timeline
    assert timeline is not None
    assert launch.duration_ns is not None
    for name, series in (("warps active", timeline.warps_active), ("issue active", timeline.issue_active)):
        *values, (end, last) = tracks.values[f"{GPU}/{name}"]
        assert [value for _, value in values] == pytest.approx(series)
        assert (end, last) == ((launch.start_ns or 0) + launch.duration_ns, 0)
        assert tracks.units[f"{GPU}/{name}"] == "%"
    for name, series in (("DRAM throughput", timeline.dram_bytes), ("L2 throughput", timeline.l2_bytes)):
        *values, _ = tracks.values[f"{GPU}/{name}"]
        assert [value * timeline.bin_ns for _, value in values[:-1]] == pytest.approx(series[:-1])
        assert tracks.units[f"{GPU}/{name}"] == "GB/s"


def test_the_bins_sum_to_the_counters(launch: Launch) -> None:
    timeline, counters = launch.timeline, launch.counters
    assert timeline is not None
    assert sum(timeline.dram_bytes) == counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"]
    assert sum(timeline.l2_bytes) == 32 * counters["lts__t_sectors.sum"]
    assert max(timeline.warps_active) <= 100


def test_every_cta_has_its_slice_and_no_sm_more_slots_than_fit(tracks: Tracks, launch: Launch) -> None:
    assert launch.timeline is not None
    base = launch.start_ns or 0
    shown = {
        (path.split("/")[-2], s.words["block"], s.start - base, s.end - base)
        for path, found in tracks.slices.items()
        if "/CTAs/" in path
        for s in found
    }
    assert shown == {(f"SM {b.sm}", b.block, b.start_ns, b.end_ns) for b in launch.timeline.blocks}
    assert len(shown) == 4096
    slots = Counter(path.split("/")[-2] for path in tracks.slices if "/CTAs/" in path)
    assert set(slots.values()) == {launch.occupancy.blocks_per_sm}


def test_warps_of_the_watched_sm_are_filled_with_states(tracks: Tracks, launch: Launch) -> None:
    timeline = launch.timeline
    assert timeline is not None
    found = {path: own for path, own in tracks.slices.items() if "/warps of the watched SM/" in path}
    assert len(found) == launch.occupancy.warps_per_sm
    expected: dict[str, int] = defaultdict(int)
    for span in timeline.warps:
        expected[span.state] += span.end_ns - span.start_ns
    states: dict[str, int] = defaultdict(int)
    lives = 0
    for own in found.values():
        for item in own:
            if item.depth:
                states[item.name] += item.end - item.start
            else:
                lives += item.end - item.start
    assert states == {state: ns for state, ns in expected.items() if ns}
    assert lives == sum(states.values())
    assert max(states, key=lambda state: states[state]) == "long_scoreboard"
    loads = [s for own in found.values() for s in own if s.words.get("sass", "").startswith("LDG")]
    assert loads


def test_samples_are_the_lanes_of_one_request(launch: Launch) -> None:
    memory = {i.sass.split()[0]: i.sample for i in launch.instructions if i.requests}
    assert set(memory) == {"LDG.E", "STG.E"}
    for sample in memory.values():
        assert [address - sample[0] for address in sample] == [4 * lane for lane in range(32)]
    assert not [i for i in launch.instructions if i.sample and not i.requests]


def test_host_calls_are_those_of_the_report(tracks: Tracks, report: Report) -> None:
    shown = [
        (s.words["index"], s.name, s.start, s.end - s.start)
        for path, found in tracks.slices.items()
        if path.startswith(f"{HOST}/host thread")
        for s in found
    ]
    assert sorted(shown) == [(c.index, c.call, c.start_ns, c.duration_ns) for c in report.api]
    assert any(name == "__cudaLaunchKernel" for _, name, *_ in shown)


def test_two_runs_differ_in_host_times_alone(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "again.json"
    warpath("explain", ROOT / "examples/vadd.cu", "--threads", "1", "--json", path)
    first, second = (msgspec.structs.replace(own, api=[]) for own in (report, report_json.read(path)))
    assert perfetto.build(first) == perfetto.build(second)


def test_what_comes_before_a_kernel_is_drawn_where_its_times_are_known(
    report: Report, launch: Launch
) -> None:
    duration, front = launch.duration_ns or 0, launch.time.front_ns if launch.time else 0
    overhead = Overhead(
        host_call_ns=None, submit_ns=duration + 100, front_ns=200, gap_ns=None, first=True, load_ns=0
    )
    second = 1000 + duration + 50
    launches = [
        msgspec.structs.replace(launch, index=i, start_ns=start, overhead=overhead, timeline=None)
        for i, start in enumerate((1000, second))
    ]
    tracks = parse(perfetto.build(msgspec.structs.replace(report, launches=launches)))
    submissions = tracks.at(f"submissions, channel {launch.submission.channel:#x}")
    assert [at for at, _ in tracks.instants[submissions]] == [800, second - 200]
    assert [(s.name, s.start, s.end, s.depth) for s in tracks.slices[submissions]] == [
        ("write launch 0", 0, 800, 0),
        ("write launch 1", 800, second - 200, 0),  # writing it began 50 ns before the doorbell of the first
    ]
    assert [(s.name, s.start, s.end, s.depth) for s in tracks.slices[f"{GPU}/front end"]] == [
        ("launch 0: fetch and decode", 800, 1000, 0),
        ("launch 0: set up", 1000, 1000 + front, 0),
        ("launch 1: fetch and decode", second - 200, second, 0),
        ("launch 1: set up", second, second + front, 0),
    ]


def test_many_launches_are_thinned_and_keep_their_bytes(report: Report, launch: Launch) -> None:
    timeline = launch.timeline
    assert timeline is not None
    bins = msgspec.structs.replace(timeline, blocks=[], warps=[])
    launches = [
        msgspec.structs.replace(launch, index=i, start_ns=i * 20_000, timeline=bins) for i in range(120)
    ]
    calls = [
        msgspec.structs.replace(report.api[0], index=i, start_ns=10 * i, duration_ns=10)
        for i in range(perfetto.MOST_CALLS + 5)
    ]
    tracks = parse(perfetto.build(msgspec.structs.replace(report, launches=launches, api=calls)))
    assert sum(map(len, tracks.values.values())) <= perfetto.MOST_VALUES + 4 * len(launches)
    bytes_shown = integral(tracks.values[f"{GPU}/DRAM throughput"])
    assert bytes_shown == pytest.approx(120 * sum(timeline.dram_bytes), rel=0.03)  # ns are whole
    (_, counters), *_ = tracks.instants[f"{GPU}/notes"]
    assert counters == "counters: one value for every 3 time bins"
    ((_, calls_note),) = tracks.instants[f"{HOST}/notes"]
    assert calls_note == f"host calls: the first {perfetto.MOST_CALLS} of {perfetto.MOST_CALLS + 5}"


def test_streams_have_channels_of_their_own(tmp_path: Path) -> None:
    path, data = tmp_path / "t.pftrace", tmp_path / "r.json"
    outcome = warpath(
        "run", "-q", ROOT / "tests/programs/p16_streams_graph.cu", "--perfetto", path, "--json", data
    )
    assert outcome.code == 0, outcome.stderr
    tracks, report = parse(path.read_bytes()), report_json.read(data)
    kernels = {p: own for p, own in tracks.slices.items() if "/kernels, channel" in p}
    assert len(kernels) == len({launch.submission.channel for launch in report.launches}) > 1
    assert sum(s.depth == 0 for own in kernels.values() for s in own) == len(report.launches)
    noted = [name for _, name in tracks.instants[f"{GPU}/notes"]]
    assert noted == [
        f"launch {n.index}: {n.timeline.note}" for n in report.launches if n.timeline and n.timeline.note
    ]


def test_without_the_clock_only_the_host_has_tracks(tmp_path: Path) -> None:
    path = tmp_path / "t.pftrace"
    warpath("run", "-q", "--functional", ROOT / "examples/vadd.cu", "--perfetto", path)
    tracks = parse(path.read_bytes())
    assert {p for p, own in tracks.slices.items() if own} == {f"{HOST}/host thread 1"}
    assert [n for _, n in tracks.instants[f"{GPU}/notes"]] == ["1 of 1 launches ran without the clock"]


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize("option", ["--perfetto", "--json"])
def test_a_place_that_cannot_be_written_is_named_before_the_program_runs(
    command: str, option: str, tmp_path: Path
) -> None:
    path = tmp_path / "none" / "t"
    outcome = warpath(command, ROOT / "examples/vadd.cu", option, path)
    assert outcome.code == 2
    assert outcome.stdout == ""
    what = "the time line" if option == "--perfetto" else "the report"
    assert outcome.stderr == f"warpath: cannot write {what} to {path}: No such file or directory\n"
    assert not path.parent.exists()
