"""What `--set` says, the combinations it makes, and which of them a change makes new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpath.errors import UsageError
from warpath.sweep.points import Template, parse_axis, points


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("N=1,2,4", ("1", "2", "4")),
        ("N=2^4", ("16",)),
        ("N=1..4", ("1", "2", "3", "4")),
        ("N=16..64+16", ("16", "32", "48", "64")),
        ("N=16..63+16", ("16", "32", "48")),
        ("N=2^4..2^8*4", ("16", "64", "256")),
        ("N=-2..2+2", ("-2", "0", "2")),
        ("N=1,4..6,5,7", ("1", "4", "5", "6", "7")),
        ("T=float,double", ("float", "double")),
        ("F=1.5f,-0x10", ("1.5f", "-0x10")),
        ("E=a=b,c", ("a=b", "c")),
    ],
)
def test_values(text: str, values: tuple[str, ...]) -> None:
    axis = parse_axis(text)
    assert (axis.name, axis.values) == (text[0], values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("N", "NAME=VALUE"),
        ("1N=3", "NAME=VALUE"),
        ("N=", "a value is missing"),
        ("N=1,,2", "a value is missing"),
        ("N=4..1", "does not count up"),
        ("N=1..4+0", "does not count up"),
        ("N=1..4*1", "does not count up"),
        ("N=0..4*2", "does not count up"),
        ("N=1..2^60", "more than 10000 values"),
        ("N=2^999", "too large a number"),
        ("gpu=h200", "--gpu h200"),
    ],
)
def test_what_is_no_axis(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("+", r"\+")):
        parse_axis(text)


@pytest.fixture
def template(tmp_path: Path) -> Template:
    source = tmp_path / "k.cu"
    source.write_text("int main() {}\n")
    return Template((source,), ("--cache-control", "all"), ("--threads", "1"), (), (), str(tmp_path))


BOARDS = {"rtx4090": "digest of one", "h200": "digest of another"}


def test_all_combinations_the_last_axis_fastest(template: Template) -> None:
    axes = [parse_axis("A=1,2"), parse_axis("B=x,y")]
    made = points(axes, template, BOARDS)
    assert [tuple(point.settings.values()) for point in made[:4]] == [
        ("rtx4090", "1", "x"),
        ("rtx4090", "1", "y"),
        ("rtx4090", "2", "x"),
        ("rtx4090", "2", "y"),
    ]
    assert len({point.key for point in made}) == len(made) == 8
    assert made[1].title == "gpu=rtx4090 A=1 B=y"
    source = str(template.files[0])
    assert made[1].options == (
        source, "--gpu", "rtx4090", "-DA=1", "-DB=y", "--cache-control", "all", "--threads", "1"
    )  # fmt: skip


def test_a_name_in_braces_is_put_there_and_is_no_macro(template: Template) -> None:
    template = replace(
        template, nvcc=("-O{opt}", "-lineinfo"), arguments=("--size", "{n}x{n}", "{}", "{gpu}")
    )
    (point,) = points([parse_axis("n=8"), parse_axis("opt=3"), parse_axis("M=1")], template, {"h200": ""})
    assert point.arguments == ("--size", "8x8", "{}", "h200")
    assert [word for word in point.options if word.startswith(("-D", "--nvcc"))] == [
        "-DM=1",
        "--nvcc=-O3",
        "--nvcc=-lineinfo",
    ]


def test_names_that_cannot_be(template: Template) -> None:
    with pytest.raises(UsageError, match="gives N twice"):
        points([parse_axis("N=1"), parse_axis("N=2")], template, BOARDS)
    with pytest.raises(UsageError, match=r"\{m\} has no value"):
        points([parse_axis("n=1")], replace(template, arguments=("{m}",)), BOARDS)
    with pytest.raises(UsageError, match="20000 points"):
        points([parse_axis("n=1..100"), parse_axis("m=1..100")], template, BOARDS)


def test_the_key_changes_with_what_decides_the_report_and_with_nothing_else(template: Template) -> None:
    def key(template: Template, value: str = "1", board: str = "digest") -> str:
        (point,) = points([parse_axis(f"N={value}")], template, {"h200": board})
        return point.key

    before = key(template)
    assert key(replace(template, limits=("--timeout", "9"))) == before
    changed = [
        key(template, value="2"),
        key(template, board="another digest"),
        key(replace(template, common=("--cache-control", "none"))),
        key(replace(template, nvcc=("-O1",))),
        key(replace(template, arguments=("1",))),
    ]
    template.files[0].write_text("int main() { return 0; }\n")
    changed.append(key(template))
    assert len({before, *changed}) == 7
