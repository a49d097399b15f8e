"""NVIDIA's compilers and disassembler: finding them, running them, and keeping what they make."""
