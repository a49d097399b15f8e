"""Each term of the ledger is large in its program, and the document quotes the row that is printed."""

from __future__ import annotations

import re

import pytest

from tests.quote_kit import GUIDE, TERMS, Quote, printed, quotes, run
from warpath.account.effects import LABELS

STATED = {
    key: (label, int(percent))
    for key, label, percent in re.findall(
        r"^\| `(\w+)` \| (.+?) \| (\d+) % \|$", GUIDE.read_text(), re.MULTILINE
    )
}
QUOTES = quotes(GUIDE)
BY_TERM = {quote.term: quote for quote in QUOTES if quote.term}


def test_every_term_has_its_program_its_quote_and_its_share() -> None:
    terms = set(LABELS) - {"floor"}
    assert {path.stem for path in TERMS.glob("*.cu")} == terms
    assert set(BY_TERM) == terms
    assert {key: label for key, (label, _) in STATED.items()} == {key: LABELS[key] for key in terms}


@pytest.mark.parametrize("term", STATED)
def test_the_term_is_large_and_its_row_is_quoted(term: str) -> None:
    quote = BY_TERM[term]
    report, output = run(quote.command)
    assert report.program.exit_code == 0, report.program.stdout
    launch = report.launches[-1]
    ledger = {row.term: row.ns for row in launch.ledger}
    assert sum(ledger.values()) == launch.duration_ns
    assert list(ledger) == [key for key in ("floor", *STATED) if key in ledger], (
        "the order that the guide gives"
    )
    share = 100 * abs(ledger[term]) / sum(ledger.values())
    assert share >= STATED[term][1]
    assert quote.text == printed(quote, output), "python -m tests.quote_kit --write renews it"


@pytest.mark.parametrize(
    "quote", [quote for quote in QUOTES if not quote.term], ids=lambda quote: quote.command
)
def test_what_else_is_quoted_is_printed(quote: Quote) -> None:
    assert quote.text == printed(quote, run(quote.command)[1]), "python -m tests.quote_kit --write renews it"
