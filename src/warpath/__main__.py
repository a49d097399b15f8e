"""`python -m warpath`."""

from __future__ import annotations

import sys

from warpath.cli import main

sys.exit(main())
