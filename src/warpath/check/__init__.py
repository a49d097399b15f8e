"""Where things break: faults, races, misused barriers, reads of nothing, leaks, hangs."""
