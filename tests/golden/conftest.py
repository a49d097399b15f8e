"""Lets the replay of a capture use the stand-ins of the unit tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "unit"))
