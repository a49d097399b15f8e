"""warpath: follow a CUDA kernel launch down every layer and say where each microsecond went."""

__version__ = "0.1.0"
