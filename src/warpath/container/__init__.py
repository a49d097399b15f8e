"""Readers of the files that carry GPU code: ELF, fat binaries, cubins. Malformed input is a FormatError."""
