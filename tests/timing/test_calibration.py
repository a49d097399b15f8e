"""The committed H200 numbers are what the committed raw data say."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpath.calibration import collect
from warpath.calibration.fit import Raw, fit
from warpath.errors import FormatError
from warpath.gpu import spec, timing

RAW = Path(__file__).parents[2] / "benchmarks" / "calibration" / "h200"


@pytest.fixture
def raw() -> Raw:
    gpu = spec.load("h200")
    values = timing.resolve(gpu).values
    return Raw(
        collect.read(RAW / "probes.json.gz"),
        collect.read(RAW / "profiled.json.gz"),
        gpu.sms,
        values["l2_slices"],
        gpu.l2_bytes,
        values["dram_channels"],
    )


def test_every_fitted_value_is_the_committed_one(raw: Raw) -> None:
    values = timing.resolve(spec.load("h200")).values
    fitted = fit(raw)
    assert fitted == {name: values[name] for name in fitted}
    assert len(fitted) >= 25


def test_a_probe_that_was_not_taken_is_named(raw: Raw) -> None:
    bare = Raw([], raw.profiled, raw.sms, raw.l2_slices, raw.l2_bytes, raw.dram_channels)
    with pytest.raises(FormatError, match="lop3_4"):
        fit(bare)
