"""Write the export lists and API tables from the CUDA headers: run by hand when a new toolkit comes out.

    python src/shim/generate.py --cu13 INCLUDE_DIR --cu12 INCLUDE_DIR [--cu12 DIR ...]

Each include option may be repeated (the cu12 wheels split the headers). The header text is not copied: a probe
program is compiled against it, and the compiler says how each function is called and how each structure is laid
out. Outputs (committed): `exports_*.def` for the shim; `signatures.json`, `structs.json`, `enums.json` and
`procaddress.json` for the server.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, cast

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

SHIM = Path(__file__).resolve().parent
DATA = SHIM.parent / "warpath" / "host" / "data"
NAMES = json.loads((SHIM / "generate.json").read_text())

PROBE = r"""
#include <type_traits>
#include <cstdio>
template <class T> void kind() {
  if constexpr (std::is_void_v<T>) printf(" void");
  else if constexpr (std::is_same_v<T, const char *>) printf(" text");
  else if constexpr (std::is_pointer_v<T>) printf(" ptr");
  else if constexpr (std::is_floating_point_v<T>) printf(" f%zu", sizeof(T) * 8);
  else if constexpr (std::is_enum_v<T>) printf(" i%zu", sizeof(T) * 8);
  else if constexpr (std::is_integral_v<T>) printf(" %c%zu", std::is_signed_v<T> ? 'i' : 'u', sizeof(T) * 8);
  else printf(" struct");
}
template <class T> void argument(const char *) { kind<std::conditional_t<std::is_pointer_v<T>, void *, T>>(); }
template <class R, class... A> void show(const char *name, R (*)(A...)) {
  printf("%s", name); kind<R>(); (record<A>(), ...); printf("\n");
}
"""


def preprocess(lines: list[str], includes: list[str], work: Path) -> str:
    """The headers after the preprocessor, every API version declared."""
    source = work / "names.cpp"
    source.write_text("\n".join(lines))
    command = ["g++", "-E", "-P", "-w", *includes, str(source)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(text: str, prefix: str) -> list[str]:
    """Names of the functions with external C linkage that `text` declares."""
    pattern = (
        rf"(?:CUresult|cudaError_t|const char\s*\*|struct cudaChannelFormatDesc)\s+({prefix}[A-Z]\w*)\s*\("
    )
    return sorted(set(re.findall(pattern, text)))


def signatures(header: str, prefix: str, includes: list[str], work: Path) -> dict[str, str]:
    """Name -> "return: argument ..." as the compiler sees each declaration of `header`."""
    lines = ["#define __CUDA_API_VERSION_INTERNAL", f"#include <{header}>"]
    names = declared(preprocess(lines, includes, work), prefix)
    structs = NAMES["by_value"][prefix]
    record = "template <class T> void record() {\n"
    for struct in structs:
        record += f'  if constexpr (std::is_same_v<T, {struct}>) printf(" {struct}:%zu", sizeof(T)); else\n'
    record += '  argument<T>("");\n}\n'
    head, tail = PROBE.split("template <class R")
    shows = "\n".join(f'  show("{name}", &{name});' for name in names)
    source = work / "probe.cpp"
    source.write_text(
        "\n".join(lines) + head + record + "template <class R" + tail + "int main() {\n" + shows + "\n}\n"
    )
    # The functions need no definition: their addresses are weak and never called.
    assembly = work / "probe"
    undefined = ["-Wl,--unresolved-symbols=ignore-all", "-no-pie"]
    subprocess.run(
        ["g++", "-std=c++17", "-w", *includes, *undefined, "-o", str(assembly), str(source)], check=True
    )
    out: dict[str, str] = {}
    for line in subprocess.run(
        [str(assembly)], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        name, result, *arguments = line.split()
        out[name] = f"{result}: {' '.join(arguments)}".rstrip()
    return out


def attribute(die: DIE, name: str) -> Any:
    """A DWARF attribute's value, None when absent."""
    value = cast("dict[str, Any]", die.attributes).get(name)
    return None if value is None else value.value


def stripped(die: DIE) -> DIE:
    """The type without typedefs and qualifiers."""
    kind = die.get_DIE_from_attribute("DW_AT_type")
    while kind.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    return kind


SCALARS = {
    (1, 1): "B",
    (2, 1): "H",
    (4, 1): "I",
    (8, 1): "Q",
    (1, 0): "b",
    (2, 0): "h",
    (4, 0): "i",
    (8, 0): "q",
}


def scalar_format(kind: DIE) -> str:
    """The `struct` module's code of a scalar or pointer type; "" for an aggregate."""
    size = attribute(kind, "DW_AT_byte_size")
    if kind.tag == "DW_TAG_pointer_type":
        return "Q"
    if kind.tag == "DW_TAG_enumeration_type":
        return "i"
    if kind.tag != "DW_TAG_base_type":
        return ""
    encoding = attribute(kind, "DW_AT_encoding")
    if encoding == 4:
        return "f" if size == 4 else "d"
    return SCALARS[(size, 0 if encoding in (5, 6) else 1)]


def array_format(kind: DIE) -> str:
    """Format of an array: "16s" for characters, "3i" for numbers, raw bytes for structures."""
    count = 1
    for child in kind.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            count *= attribute(child, "DW_AT_upper_bound") + 1
    element = stripped(kind)
    code = scalar_format(element)
    if code == "":
        return f"{count * attribute(element, 'DW_AT_byte_size')}s"
    return f"{count}s" if code in "bB" else f"{count}{code}"


def fields(kind: DIE, base: int, prefix: str, out: dict[str, list[Any]]) -> None:
    """Add every member of a structure or union, nested ones under dotted names."""
    for member in kind.iter_children():
        if member.tag != "DW_TAG_member":
            continue
        name = attribute(member, "DW_AT_name")
        path = prefix if name is None else f"{prefix}.{name.decode()}" if prefix else name.decode()
        offset = base + (attribute(member, "DW_AT_data_member_location") or 0)
        inner = stripped(member)
        if inner.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            fields(inner, offset, path, out)
        elif inner.tag == "DW_TAG_array_type":
            out[path] = [offset, array_format(inner)]
        else:
            out[path] = [offset, scalar_format(inner)]


def layouts(names: dict[str, list[str]], headers: list[str], includes: list[str], work: Path) -> Any:
    """(structure layouts, enumerations), read from the debug information of a compiled probe."""
    source = work / "layout.cpp"
    wanted = names["structs"] + names["enums"]
    source.write_text(
        "".join(f"#include <{header}>\n" for header in headers)
        + "".join(f"{name} *v{index};\n" for index, name in enumerate(wanted))
    )
    compiled = work / "layout.o"
    subprocess.run(["g++", "-g", "-w", "-c", *includes, "-o", str(compiled), str(source)], check=True)
    structs: dict[str, Any] = {}
    enums: dict[str, dict[str, int]] = {}
    with compiled.open("rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                label = (attribute(die, "DW_AT_name") or b"").decode()
                if die.tag != "DW_TAG_variable" or not re.fullmatch(r"v\d+", label):
                    continue
                name, kind = wanted[int(label[1:])], stripped(stripped(die))
                if kind.tag == "DW_TAG_enumeration_type":
                    enums[name] = {
                        attribute(child, "DW_AT_name").decode(): attribute(child, "DW_AT_const_value")
                        for child in kind.iter_children()
                    }
                else:
                    members: dict[str, list[Any]] = {}
                    fields(kind, 0, "", members)
                    structs[name] = {"size": attribute(kind, "DW_AT_byte_size"), "fields": members}
    return structs, enums


def versions(include: Path, symbols: set[str]) -> dict[str, list[list[Any]]]:
    """Base name -> [[first CUDA version, exported symbol], ...] for cuGetProcAddress, oldest first."""
    found: dict[str, set[int]] = {}
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        for name, version in re.findall(
            r"\*PFN_(cu\w+?)_v(\d{4,5})(?:_pt[ds][sz])?\)", (include / header).read_text()
        ):
            found.setdefault(name, set()).add(int(version))
    table: dict[str, list[list[Any]]] = {}
    for name, numbers in sorted(found.items()):
        exported = [s for s in (name, *(f"{name}_v{n}" for n in range(2, 9))) if s in symbols]
        ordered = sorted(numbers)[-len(exported) :] if exported else []
        table[name] = [
            [version, symbol] for version, symbol in zip(ordered, exported[-len(ordered) :], strict=True)
        ]
    return {name: entries for name, entries in table.items() if entries}


def export_line(name: str, signature: str) -> str:
    """One X-macro line: how the arguments arrive by the C ABI, and the words they are sent as."""
    result, _, rest = signature.partition(":")
    prototype: list[str] = []
    words: list[str] = []
    for letter, argument in zip("abcdefghijklmnopqrst", rest.split(), strict=False):
        if ":" in argument:
            size = int(argument.split(":")[1])
            prototype.append(f"s{size} {letter}" if size != 8 else f"u64 {letter}")
            words.append(f"W{size}({letter})" if size != 8 else letter)
        elif argument == "f32":
            prototype.append(f"float {letter}")
            words.append(f"WF({letter})")
        else:
            prototype.append(f"u64 {letter}")
            words.append(letter)
    macro = {"text": "WP_TEXT", "struct": "WP_STRUCT"}.get(result, "WP")
    return f"{macro}({', '.join([name, '(' + (', '.join(prototype) or 'void') + ')', *words])})"


def write_exports(path: Path, table: dict[str, str]) -> None:
    """The .def file of one library."""
    lines = ["// Written by generate.py: name, prototype, argument words."]
    lines += [export_line(name, table[name]) for name in sorted(table)]
    path.write_text("\n".join(lines) + "\n")


def write_json(path: Path, value: Any) -> None:
    """JSON with one entry of the second level per line, so that a change shows as one line."""
    blocks: list[str] = []
    for key, inner in value.items():
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(item)}" for name, item in inner.items())
        blocks.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def extra_driver_names(include: Path) -> set[str]:
    """Names declared in the graphics interop headers, which need headers no CUDA wheel has."""
    found: set[str] = set()
    for header in ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfilerTypedefs.h"):
        text = (include / header).read_text()
        found |= set(re.findall(r"CUDAAPI (cu\w+)\(", text)) | set(
            re.findall(r"PFN_(cuProfiler\w+)_v\d+", text)
        )
    return found


def main() -> None:
    """Parse the options and write every output."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cu13", required=True, action="append", type=Path)
    parser.add_argument("--cu12", required=True, action="append", type=Path)
    options = parser.parse_args()
    tables: dict[str, dict[str, str]] = {}
    structs: dict[str, Any] = {}
    enums: dict[str, dict[str, int]] = {}
    headers = ["cuda.h", "cuda_runtime_api.h"]
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        for major, paths in (("12", options.cu12), ("13", options.cu13)):
            includes = [f"-I{path}" for path in paths]
            runtime = signatures("cuda_runtime_api.h", "cuda", includes, work)
            opaque = {name: "i32: " + " ".join(["u64"] * 6) for name in NAMES["opaque"]["runtime" + major]}
            tables["runtime" + major] = opaque | NAMES["runtime"] | runtime
            driver = signatures("cuda.h", "cu", includes, work)
            tables["driver"] = tables.get("driver", {}) | driver
            structs[major], found = layouts(NAMES["layouts"], headers, includes, work)
            enums |= found
    tables["driver"] |= NAMES["driver"]
    opaque = sorted(extra_driver_names(options.cu13[0]) - set(tables["driver"]))
    tables["driver"] |= {name: "i32: " + " ".join(["u64"] * 6) for name in opaque}
    for library, table in tables.items():
        write_exports(SHIM / f"exports_{library}.def", table)
    DATA.mkdir(parents=True, exist_ok=True)
    write_json(DATA / "signatures.json", {key: dict(sorted(table.items())) for key, table in tables.items()})
    write_json(DATA / "structs.json", structs)
    write_json(DATA / "enums.json", enums)
    write_json(DATA / "procaddress.json", {"driver": versions(options.cu13[0], set(tables["driver"]))})


if __name__ == "__main__":
    main()
