from __future__ import annotations

from warpath.toolchain.ptx import parts, ptxas_usage, virtual_registers

PTX = """
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;
.visible .entry _Z4vaddPf(
\t.param .u64 .ptr .align 1 _Z4vaddPf_param_0
)
.maxntid 128, 1, 1
{
\t.reg .pred \t%p<2>;
\t.reg .b32 \t%r<6>;
\t.reg .b64 \t%rd<11>;
\t{
\t.reg .b32 temp_param_reg;
\t}
}
.func  (.param .b32 func_retval0) _Z5twicei(
\t.param .b32 _Z5twicei_param_0
)
{
\t.reg .b32 \t%r<4>;
}
"""

USAGE = """\
ptxas info    : 95 bytes gmem, 32 bytes cmem[3]
ptxas info    : Compiling entry function '_Z2k1Pii' for 'sm_89'
ptxas info    : Function properties for _Z2k1Pii
    24 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 26 registers, used 1 barriers, 128 bytes smem, 364 bytes cmem[0]
ptxas info    : Function properties for _Z2f1i
    8 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads
ptxas info    : Compiling entry function 'tiny' for 'sm_89'
ptxas info    : Function properties for tiny
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers
"""


def test_virtual_registers_per_function_and_kind() -> None:
    assert virtual_registers(PTX) == {
        "vprintf": {},
        "_Z4vaddPf": {"pred": 2, "b32": 7, "b64": 11},
        "_Z5twicei": {"b32": 4},
    }


def test_text_without_functions() -> None:
    assert virtual_registers(".version 9.0\n.target sm_89\n") == {}
    assert ptxas_usage("") == {}


def test_resource_usage_of_kernels_only() -> None:
    usage = ptxas_usage(USAGE)
    assert list(usage) == ["_Z2k1Pii", "tiny"]
    first = usage["_Z2k1Pii"]
    assert (first.registers, first.barriers, first.stack, first.shared) == (26, 1, 24, 128)
    assert (first.spill_stores, first.spill_loads) == (4, 8)
    assert first.constants == {"cmem[0]": 364}
    assert usage["tiny"].as_dict() == {
        "registers": 4,
        "barriers": 0,
        "stack": 0,
        "spill_stores": 0,
        "spill_loads": 0,
        "shared": 0,
        "constants": {},
    }


PARTS = """
.visible .func (.param .b32 r) helper(.param .b32 a);
.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .b32 	%r<3>;
	.loc	1 7 0

	mov.u32 	%r1, %tid.x;
$L__BB0_1:
	// a remark
	.loc	2 9 3
	.loc	2 10 3, function_name $L__info_string0, inlined_at 1 7 3
	ret;

}
.visible .entry other()
{
	.loc	1 30 1
	ret;
}
	.file	1 "/a/k.cu"
	.file	2 "/a/k.cuh", 1700000000, 200
"""


def test_parts_follow_loc_directives_inside_the_wanted_functions() -> None:
    found = parts(PARTS, ["k", "helper", "absent"])
    assert list(found) == ["k"]
    assert [(part.file, part.line, part.text) for part in found["k"]] == [
        ("", 0, [".reg .b32 %r<3>;"]),
        ("/a/k.cu", 7, ["mov.u32 %r1, %tid.x;", "$L__BB0_1:"]),
        ("/a/k.cuh", 10, ["ret;"]),
    ]
    assert [part.instructions for part in found["k"]] == [[], ["mov.u32 %r1, %tid.x;"], ["ret;"]]
