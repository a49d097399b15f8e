"""The HTML report in headless Chromium: clicked through, with keys, narrow, dark, and its figures held against the
JSON of the same run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.report_kit import full
from tests.smoke.browser import Browser, browser
from tests.smoke.programs import warpath
from warpath.report import json as report_json
from warpath.report.html import page
from warpath.report.model import Fault, Report

ROOT = Path(__file__).resolve().parents[2]
VADD = ROOT / "examples" / "vadd.cu"
STAGES = ("compiler", "stub", "load", "segment", "ring", "qmd", "bank", "placement", "sm")
LIMIT = 8_000_000  # bytes
OPEN_MS = 2000


@dataclass(frozen=True)
class Written:
    """A page and the report it shows."""

    path: Path
    report: Report


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """vadd as `explain` reports it."""
    folder = tmp_path_factory.mktemp("html")
    outcome = warpath("explain", VADD, "--json", folder / "r.json", "--html", folder / "r.html")
    assert outcome.code == 0, outcome.stderr
    return Written(folder / "r.html", report_json.read(folder / "r.json"))


@pytest.fixture(scope="module")
def whole(run: Written) -> Written:
    """The same with every part filled in."""
    return _written(run, "full", full(run.report))


def _written(run: Written, name: str, report: Report) -> Written:
    path = run.path.with_name(f"{name}.html")
    page.write(report, path)
    return Written(path, report)


def _number(text: str) -> float:
    """The number in a cell: thousands are grouped, and minus is a minus sign."""
    return float(re.sub(r"[^\d.-]", "", text.replace("\N{MINUS SIGN}", "-")))


def test_clicking_a_stage_shows_its_details_and_hides_the_others(chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path)
    for stage in STAGES:
        chromium.click(f"#l0-tab-{stage}")
        shown = [panel.get_attribute("id") for panel in chromium.all(".panel") if panel.is_displayed()]
        assert shown == [f"l0-stage-{stage}"]
        assert chromium.one(f"#l0-stage-{stage}").text.strip()
        selected = chromium.all('[role="tab"][aria-selected="true"]')
        assert [tab.get_attribute("id") for tab in selected] == [f"l0-tab-{stage}"]
    assert chromium.console() == []


def test_stages_hold_what_the_report_holds(chromium: Browser, run: Written) -> None:
    (launch,) = run.report.launches
    assert run.report.compile
    chromium.open(run.path)
    chromium.click("#l0-tab-compiler")
    assert len(chromium.all("#l0-stage-compiler tbody tr")) == len(run.report.compile.stages)
    chromium.click("#l0-tab-stub")
    text = chromium.one("#l0-stage-stub").text
    assert "__cudaPushCallConfiguration(4096, 256)" in text
    assert "__cudaSetupArgSimple(__par3, 24UL)" in text
    chromium.click("#l0-tab-segment")
    words = chromium.texts("#l0-stage-segment td:nth-child(2)")
    assert [int(word, 16) for word in words] == launch.submission.words
    assert len(words) == launch.submission.pushbuffer_dwords
    meanings = chromium.one("#l0-stage-segment table").text
    for name in {method.name for method in launch.submission.methods}:
        assert name in meanings
    chromium.click("#l0-tab-qmd")
    fields = {name: int(cells[0]) for name, cells in chromium.rows("#l0-stage-qmd tbody tr").items()}
    assert fields == launch.submission.qmd
    chromium.click("#l0-tab-bank")
    assert "c[0x0][0x178]" in chromium.one("#l0-stage-bank").text
    chromium.click("#l0-tab-placement")
    assert launch.timeline
    strokes = sum(len(trace["x"]) // 3 for trace in chromium.drawn("placement"))
    assert strokes == len(launch.timeline.blocks)


def test_ledger_is_the_report_s_and_sums_to_the_duration(chromium: Browser, whole: Written) -> None:
    (launch,) = whole.report.launches
    chromium.open(whole.path)
    shown = [_number(text) for text in chromium.texts(".waterfall .num")]
    assert shown == [*(term.ns for term in launch.ledger), launch.duration_ns]
    assert sum(shown[:-1]) == shown[-1]
    bars = chromium.js(
        "return [...document.querySelectorAll('.waterfall i')].map((bar) => "
        "[bar.getBoundingClientRect().left, bar.getBoundingClientRect().right])"
    )
    for ((left, right), after), term in zip(pairwise(bars), launch.ledger, strict=True):
        end = right if term.ns >= 0 else left
        assert min(abs(end - edge) for edge in after) < 1, "a bar begins where the one before ended"


def test_durations_counters_and_stalls_are_the_report_s(chromium: Browser, run: Written) -> None:
    (launch,) = run.report.launches
    chromium.open(run.path)
    assert launch.duration_ns
    assert f"{launch.duration_ns / 1e3:.2f} us" in chromium.one(".figures").text
    assert f"{launch.floor_ns / 1e3:.2f} us" in chromium.one(".figures").text
    chromium.js("for (const d of document.querySelectorAll('details')) d.open = true")
    counters = {name: _number(cells[0]) for name, cells in chromium.rows("tr[data-counter]").items()}
    assert counters == {name: pytest.approx(value, abs=6e-4) for name, value in launch.counters.items()}
    total = sum(launch.stalls.values())
    stalls = {
        name: [_number(cell) for cell in cells] for name, cells in chromium.rows("tr[data-stall]").items()
    }
    assert len(stalls) > 5
    for reason, (cycles, percent) in stalls.items():
        assert cycles == pytest.approx(launch.stalls[reason], abs=6e-4)
        assert percent == pytest.approx(100 * launch.stalls[reason] / total, abs=0.06)


def test_plots_hold_the_report_s_series(chromium: Browser, whole: Written) -> None:
    (launch,) = whole.report.launches
    timeline = launch.timeline
    assert timeline
    chromium.open(whole.path)
    _, active, issue = chromium.drawn("occupancy")
    assert active["y"] == pytest.approx(timeline.warps_active)
    assert issue["y"] == pytest.approx(timeline.issue_active)
    _, dram, l2 = chromium.drawn("throughput")
    assert dram["y"] == pytest.approx([count / timeline.bin_ns for count in timeline.dram_bytes])
    assert l2["y"] == pytest.approx([count / timeline.bin_ns for count in timeline.l2_bytes])
    roof, dot = chromium.drawn("roofline")
    assert roof["y"][0] / roof["x"][0] == pytest.approx(whole.report.gpu.dram_bandwidth_gbs)
    assert dot["y"] == [pytest.approx(launch.counters["smsp__inst_executed.sum"] / (launch.duration_ns or 1))]
    chromium.click("#l0-tab-sm")
    strokes = sum(len(trace["x"]) // 3 for trace in chromium.drawn("warps"))
    assert strokes == len(timeline.warps)
    chromium.click("#l0-tab-placement")
    assert sum(len(trace["x"]) // 3 for trace in chromium.drawn("placement")) == len(timeline.blocks)
    assert chromium.console() == []


def test_pointing_at_an_instruction_marks_its_source_and_ptx(chromium: Browser, run: Written) -> None:
    chromium.open(run.path)
    fadd = next(line for line in chromium.all(".sass .line") if "FADD" in line.text)
    chromium.point_at(fadd)
    source = chromium.texts(".source .line.linked")
    assert len(source) == 1
    assert "c[i] = a[i] + b[i]" in source[0]
    ptx = " ".join(chromium.texts(".ptx .line.linked"))
    assert "add.f32" in ptx
    assert "mad.lo.s32" not in ptx, "that is the line before"
    detail = chromium.one(".detail").text
    assert "wait SB2" in detail
    assert "long_scoreboard" in detail


def test_cost_of_each_line_is_the_sum_of_its_instructions(chromium: Browser, run: Written) -> None:
    (launch,) = run.report.launches
    total = sum(sum(i.stalls.values()) for i in launch.instructions)
    by_line: dict[int, int] = {}
    for instruction in launch.instructions:
        by_line[instruction.line] = by_line.get(instruction.line, 0) + sum(instruction.stalls.values())
    chromium.open(run.path)
    numbers, costs = (chromium.texts(f".source .line[data-key] {part}") for part in (".no", ".pc"))
    shown = {int(number): _number(cost) for number, cost in zip(numbers, costs, strict=True)}
    assert shown == {line: pytest.approx(100 * cost / total, abs=0.06) for line, cost in by_line.items()}


def test_the_keyboard_walks_the_path_and_the_code(chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path)
    chromium.js("document.querySelector('#l0-tab-compiler').focus()")
    for stage in (*STAGES[1:], STAGES[0]):
        chromium.keys(Keys.ARROW_RIGHT)
        assert chromium.js("return document.activeElement.id") == f"l0-tab-{stage}"
        assert chromium.one(f"#l0-stage-{stage}").is_displayed()
    chromium.keys(Keys.END)
    assert chromium.one("#l0-stage-sm").is_displayed()
    chromium.keys(Keys.HOME)
    assert chromium.one("#l0-stage-compiler").is_displayed()
    chromium.keys(Keys.TAB)
    assert chromium.js("return document.activeElement.id") == "l0-stage-compiler", "one stop for all stages"
    chromium.js("document.querySelector('.sass .lines').focus()")
    chromium.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    second = chromium.all(".sass .line")[1]
    assert "chosen" in (second.get_attribute("class") or "")
    assert chromium.all(".source .line.linked")
    assert second.find_element("css selector", "code").text in chromium.one(".detail").text


def test_everything_that_can_be_operated_is_reached_with_tab(chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path)
    reached: set[str] = set()
    for _ in range(80):
        chromium.keys(Keys.TAB)
        reached.add(
            chromium.js(
                "const e = document.activeElement; return e.tagName + '.' + e.className.split(' ')[0]"
            )
        )
    assert {"A.skip", "A.", "BUTTON.stage", "SELECT.sector-choice", "DIV.lines", "SUMMARY."} <= reached


@pytest.mark.parametrize("width", [360, 400, 700, 1280])
def test_the_page_never_scrolls_sideways(width: int, chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path, width)
    chromium.js("for (const d of document.querySelectorAll('details')) d.open = true")
    for stage in STAGES:
        chromium.click(f"#l0-tab-{stage}")
        inner, outer = chromium.js(
            "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
        )
        assert inner <= outer, stage
    for plot in ("roofline", "occupancy", "throughput"):
        chromium.drawn(plot)
    assert chromium.js("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert chromium.console() == []


def test_dark_mode_redraws_the_plots(chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path)
    colour = "return document.querySelector('[data-plot=roofline]').layout.font.color"
    chromium.drawn("roofline")
    light = chromium.js(colour)
    chromium.scheme("dark")
    WebDriverWait(chromium.driver, 10).until(lambda _: chromium.js(colour) != light)
    assert chromium.console() == []


# As WCAG asks of text, in every kind of place that text stands in; the hottest line has the strongest ground.
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(scheme: str, chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path, scheme=scheme)
    text, ground = _colours(chromium, "body")
    assert (_luminance(text) > _luminance(ground)) == (scheme == "dark")
    for selector in (".card", ".stage", ".line code", '.sass .pc[style*="45%"]', "td", ".origin", ".quiet"):
        bright, dim = sorted(map(_luminance, _colours(chromium, selector)), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) > 4.5, selector


def _colours(chromium: Browser, selector: str) -> tuple[list[int], list[int]]:
    """An element's text and what is behind it as red, green, blue, with all translucent layers put together."""
    return chromium.js(
        """
        const element = document.querySelector(arguments[0]);
        const pen = new OffscreenCanvas(1, 1).getContext('2d');
        const paint = (colour) => {
          pen.fillStyle = colour;
          pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
        };
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.unshift(getComputedStyle(e).backgroundColor);
        const ground = layers.map(paint).at(-1);
        return [paint(getComputedStyle(element).color), ground]""",
        selector,
    )


def _luminance(colour: list[int]) -> float:
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_sector_map_draws_each_lane_and_counts_sectors(chromium: Browser, whole: Written) -> None:
    (launch,) = whole.report.launches
    sampled = [i for i in launch.instructions if i.sample]
    chromium.open(whole.path)
    choice = chromium.one(".sector-choice")
    for instruction in sampled:
        chromium.js(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))",
            choice,
            str(instruction.pc),
        )
        (shown,) = (each for each in chromium.all(".sector-map") if each.is_displayed())
        sectors = {address // 32 for address in instruction.sample if address >= 0}
        assert shown.get_attribute("data-sectors") == str(len(sectors))
        assert len(shown.find_elements("css selector", ".sector.used")) == len(sectors)
        assert len(shown.find_elements("css selector", "rect.lane")) == sum(
            a >= 0 for a in instruction.sample
        )


def test_text_of_the_program_is_only_text(chromium: Browser, run: Written) -> None:
    bad = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>{{ 7 * 7 }}"
    (launch,) = full(run.report).launches
    compiled = run.report.compile
    assert compiled
    kernel = compiled.kernels[launch.mangled]
    hostile = replace(
        launch,
        kernel=bad,
        verdict=bad,
        bound=bad,
        ledger_note=bad,
        ledger=[replace(term, label=bad, text=bad) for term in launch.ledger],
        diagnoses=[replace(each, text=bad, file=bad) for each in launch.diagnoses],
        instructions=[replace(i, sass=f"{i.sass} {bad}", file=bad) for i in launch.instructions],
        params=[replace(param, value=bad) for param in launch.params],
        submission=replace(launch.submission, qmd={bad: 1}, constant_bank={bad: 1}, qmd_version=bad),
        timeline=replace(launch.timeline, note=bad) if launch.timeline else None,
    )
    report = replace(
        run.report,
        verdict=bad,
        program=replace(run.report.program, path=bad, args=[bad], stdout=bad),
        compile=replace(
            compiled,
            sources={bad: f"{bad}\n" * 20},
            members=[bad],
            kernels={launch.mangled: replace(kernel, stub=bad, calls=[bad], demangled=bad)},
        ),
        launches=[hostile, replace(hostile, index=1)],
        faults=[Fault(kind="out_of_bounds", title=bad, message=bad, kernel=bad, file=bad, line=1)],
        api=[replace(call, call=bad, detail=bad) for call in run.report.api],
    )
    chromium.open(_written(run, "hostile", report).path)
    chromium.drawn("roofline")
    assert chromium.js("return window.owned") is None
    assert chromium.all("img") == []
    assert bad in chromium.js("return document.querySelector('article').textContent")
    assert chromium.console() == []


def test_faults_say_where_and_why(chromium: Browser, run: Written) -> None:
    fault = Fault(
        kind="out_of_bounds",
        title="Invalid __global__ write of size 4 bytes",
        kernel="vadd(int *)",
        file="/a/b/vadd.cu",
        line=9,
        launch=0,
        details=["Access at 0x10 is out of bounds"],
        notes=["Hardware lets it pass"],
        fatal=True,
    )
    chromium.open(_written(run, "fault", replace(run.report, faults=[fault])).path)
    text = chromium.one(".faults").text
    for part in (fault.title, fault.kernel, "vadd.cu:9", "launch 0", *fault.details, *fault.notes):
        assert part in text
    assert "A fault stopped this launch" in chromium.one("#l0 .lead").text


def test_every_part_may_be_missing(chromium: Browser, run: Written) -> None:
    (launch,) = run.report.launches
    bare = replace(
        launch,
        duration_ns=None,
        time=None,
        stalls={},
        counters={},
        sm_blocks=[],
        traffic=[],
        instructions=[],
        load=None,
        params=[],
        ledger=[],
        what_if=[],
        diagnoses=[],
        overhead=None,
        timeline=None,
        flow=None,
        accuracy=None,
        verdict="",
        submission=replace(launch.submission, words=[], methods=[], qmd={}, constant_bank={}),
    )
    chromium.open(_written(run, "bare", replace(run.report, compile=None, launches=[bare], api=[])).path)
    for stage in STAGES:
        chromium.click(f"#l0-tab-{stage}")
    views = {view.get_attribute("id"): view for view in chromium.all("[data-view][id]")}
    for name in ("account", "stalls", "roofline", "overtime", "sectors", "code"):
        assert views[f"l0-{name}"].find_elements("css selector", ".missing"), name
    assert chromium.console() == []
    chromium.open(_written(run, "none", replace(run.report, launches=[])).path)
    assert "No launch" in chromium.one("main").text
    assert chromium.console() == []


def test_the_page_asks_for_nothing_from_outside(chromium: Browser, whole: Written) -> None:
    chromium.open(whole.path)
    chromium.drawn("throughput")
    fetched = chromium.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in fetched if not name.startswith(("data:", "blob:"))] == []


# Hundreds of launches; a large kernel with many lines; faults; several kernels.
@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("tests/cases/c03_empty_kernel_launch.cu", ["--functional"]),
        ("tests/cases/c53_sgemm_tiled.cu", []),
        ("tests/cases/c31_oob_far.cu", []),
        ("tests/programs/p13_templates.cu", []),
    ],
)
def test_size_and_time_to_open(program: str, options: list[str], chromium: Browser, tmp_path: Path) -> None:
    path, image = tmp_path / "r.html", tmp_path / "r.json"
    warpath("explain", ROOT / program, *options, "--html", path, "--json", image)
    report = report_json.read(image)
    everything = _written(Written(path, report), "full", full(report))
    for written in (Written(path, report), everything):
        assert written.path.stat().st_size < LIMIT
        assert any(_time_to_open(chromium, written.path) < OPEN_MS for _ in range(3)), (
            "also on a busy machine"
        )
        rows = chromium.all(".launches tbody tr")
        assert len(rows) == (len(report.launches) if len(report.launches) > 1 else 0)
        assert len([each for each in chromium.all("article.launch") if each.is_displayed()]) == 1
        assert chromium.console() == []


def _time_to_open(chromium: Browser, path: Path) -> int:
    """Milliseconds until the page has loaded and its first launch stands in it."""
    chromium.open(path)
    return chromium.js("const t = performance.timing; return t.loadEventEnd - t.navigationStart")


def test_choosing_a_launch_shows_it(chromium: Browser, run: Written) -> None:
    (launch,) = run.report.launches
    second = replace(launch, index=1, grid=[8, 1, 1], duration_ns=(launch.duration_ns or 0) // 2)
    third = replace(second, index=2)
    path = _written(run, "three", replace(run.report, launches=[launch, second, third])).path
    chromium.open(path)
    assert chromium.one("#l0").is_displayed(), "the longest comes first"
    chromium.all(".pick")[1].click()
    assert chromium.one("#l1").is_displayed()
    assert not chromium.one("#l0").is_displayed()
    assert chromium.all("#l2") == []
    assert "like 1" in chromium.all(".launches tbody tr")[2].text
    chromium.all(".pick")[1].send_keys(Keys.ARROW_UP, Keys.ENTER)
    chromium.keys(Keys.ENTER)
    assert chromium.one("#l0").is_displayed()


def test_a_place_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    for command in ("run", "explain"):
        outcome = warpath(command, VADD, "--html", tmp_path / "missing" / "r.html")
        assert outcome.code == 2
        assert outcome.stdout == ""
        assert outcome.stderr.splitlines() == [
            f"warpath: cannot write the page to {tmp_path}/missing/r.html: No such file or directory"
        ]


def test_run_writes_the_page_too(tmp_path: Path) -> None:
    outcome = warpath("run", "-q", VADD, "--html", tmp_path / "r.html")
    assert outcome.stdout == "c[0]=2.000000 c[n-1]=2.000000\n", outcome.stderr
    assert "vadd(const float *" in (tmp_path / "r.html").read_text()
