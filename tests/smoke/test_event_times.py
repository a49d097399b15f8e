"""Event times follow the model's clocks alone: the host's pace on this machine, and its threads, do not show."""

from __future__ import annotations

from pathlib import Path

from tests.smoke.programs import build_for, warpath

SOURCE = Path(__file__).resolve().parents[1] / "data" / "clock" / "event_times.cu"
COPY_US = (1 << 20) / 55_300  # 1 MiB over PCIe, as measured on the H200


def test_event_times_are_the_same_whatever_this_machine_does() -> None:
    program = build_for([SOURCE], [90])
    runs = [
        warpath("run", "-q", "--gpu", "h200", "--threads", threads, program, *more)
        for threads in ("1", "2")
        for more in ((), ("--", "sleep"))
    ]
    assert [run.code for run in runs] == [0] * 4
    assert len({run.stdout for run in runs}) == 1
    up, kernels, down, again = map(float, runs[0].stdout.split())
    assert COPY_US < up < COPY_US + 8
    assert COPY_US < down < COPY_US + 8
    assert kernels > 90  # the first launch loads the module
    assert 5 < again < 15  # a launch on an idle stream: mostly the host's call
