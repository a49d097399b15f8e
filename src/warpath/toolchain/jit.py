"""Assemble PTX for one GPU, as the driver does when a fat binary holds no code for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from warpath.toolchain.cache import key_of, read_entry, write_entry
from warpath.toolchain.locate import Tools, find_tools
from warpath.toolchain.process import run_tool


def assemble_ptx(ptx: bytes, sm: str, tools: Tools | None = None) -> bytes:
    """The cubin for `sm` (`sm_89`) that ptxas makes of PTX text; ToolError with its message if it refuses."""
    tools = tools or find_tools()
    text = ptx.rstrip(b"\0")
    key = key_of((tools.version, sm, text))
    cubin = read_entry("jit", key)
    if cubin is None:
        with tempfile.TemporaryDirectory(prefix="warpath-") as folder:
            source, target = Path(folder) / "module.ptx", Path(folder) / "module.cubin"
            source.write_bytes(text)
            run_tool([tools.ptxas, f"-arch={sm}", "--generate-line-info", source, "-o", target])
            cubin = target.read_bytes()
        write_entry("jit", key, cubin)
    return cubin
