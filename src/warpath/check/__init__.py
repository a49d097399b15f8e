"""Where things break: faults, races, misused barriers, reads of nothing, leaks and hangs, said so that people can act."""
