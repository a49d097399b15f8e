from __future__ import annotations

import pytest

from warpath.container import demangle as module
from warpath.container.demangle import demangle, nvidia_style


@pytest.mark.parametrize(
    ("mangled", "expected"),
    [
        ("_Z4vaddPKfS0_Pfi", "vadd(const float *, const float *, float *, int)"),
        ("_Z7nothingv", "nothing()"),
        ("_Z4scanILi1EEvPKiPi", "void scan<1>(const int *, int *)"),
        ("_Z10locked_addPiPVi", "locked_add(int *, volatile int *)"),
        ("_Z5churnPji", "churn(unsigned int *, int)"),
        ("_Z4showcds3Box6float3Px", "show(char, double, short, Box, float3, long long *)"),
        ("_Z3fooPKPKf", "foo(const float *const *)"),
        ("_Z1gRA3_Ki", "g(const int (&)[3])"),
        ("_Z1fPFvPKiE", "f(void (*)(const int *))"),
        ("_Z1hSt4pairIKiPKfE", "h(std::pair<const int, const float *>)"),
        ("_ZN12_GLOBAL__N_13barEPKiy", "(anonymous namespace)::bar(const int *, unsigned long long)"),
        (
            "_ZN2at1kILi4ENS_3AddIfEENS_5ArrayIPcLi3EEEEEviT0_T1_",
            "void at::k<4, at::Add<float>, at::Array<char *, 3>>(int, at::Add<float>, at::Array<char *, 3>)",
        ),
        ("main", "main"),
        ("_Znonsense", "_Znonsense"),
    ],
)
def test_names_as_the_profiler_prints_them(mangled: str, expected: str) -> None:
    assert demangle(mangled) == expected


def test_without_a_demangler_the_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_library", lambda: None)
    assert demangle.__wrapped__("_Z4vaddPKfS0_Pfi") == "_Z4vaddPKfS0_Pfi"


def test_names_without_parameters_keep_their_template_arguments() -> None:
    assert nvidia_style("a::b<int const*>") == "a::b<const int *>"
