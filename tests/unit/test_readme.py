"""The README and its Chinese twin say the same, and quote what is printed today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.quote_kit import ROOT, printed, quotes, run
from warpath.account.validated import validation

README = ROOT / "README.md"
TWIN = ROOT / "README.zh-CN.md"
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    """The document without its code blocks."""
    return _FENCE.sub("", path.read_text())


def headings(path: Path) -> list[str]:
    """Their levels in order: `#`, `##`, ..."""
    return re.findall(r"^(#+) ", prose(path), re.MULTILINE)


def links(path: Path) -> list[str]:
    """Where links and images lead, in order; those between the two documents left out."""
    return [to for to in re.findall(r"\]\(([^)]+)\)", prose(path)) if to not in (README.name, TWIN.name)]


def table_sizes(path: Path) -> list[int]:
    """Cells of each table row, in order."""
    rows = re.findall(r"^\|.*\|$", prose(path), re.MULTILINE)
    return [len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows]


def commands(path: Path) -> list[str]:
    """Code spans in order, without those that the languages place differently within one paragraph."""
    return sorted(re.findall(r"`[^`\n]+`", prose(path)))


def test_twins_have_the_same_parts() -> None:
    assert headings(TWIN) == headings(README)
    assert len(headings(README)) > 5
    assert _FENCE.findall(TWIN.read_text()) == _FENCE.findall(README.read_text())
    assert table_sizes(TWIN) == table_sizes(README)


def test_twins_lead_to_the_same_places() -> None:
    assert links(TWIN) == links(README)
    assert f"]({TWIN.name})" in README.read_text()
    assert f"]({README.name})" in TWIN.read_text()


def test_twins_name_the_same_commands_and_figures() -> None:
    assert commands(TWIN) == commands(README)
    figures = [re.findall(r"(?<![A-Za-z\d.])\d+(?:\.\d+)?", prose(path)) for path in (README, TWIN)]
    assert sorted(figures[0]) == sorted(figures[1])


def test_links_lead_to_files() -> None:
    for to in links(README):
        assert (ROOT / to).is_file(), to


def test_the_quoted_answer_is_printed_today() -> None:
    (quote,) = quotes(README)
    assert "us duration" in quote.text
    assert quote.text == printed(quote, run(quote.command)[1]), "python -m tests.quote_kit --write renews it"


def test_the_accuracy_is_that_of_the_references() -> None:
    own = validation()
    said = r"(\d+) reference launches .*: mean error ([\d.]+) % with cold\s+caches and ([\d.]+) %"
    (line,) = re.findall(said, prose(README))
    assert line == (
        str(own.launches),
        *(f"{own.mean_error_percent[state]:.1f}" for state in ("cold", "warm")),
    )


@pytest.mark.parametrize("path", (README, TWIN))
def test_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 200
