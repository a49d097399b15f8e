"""Findings on a terminal: compute-sanitizer's lines first, since people search for them, then ours."""

from __future__ import annotations

from collections.abc import Iterable

from warpath.report.model import Fault

_RULE = "========="


def render(finding: Fault) -> str:
    """One finding as text, without a final line end."""
    severity = "Error: " if finding.tool == "racecheck" else ""
    lines = [f"{severity}{finding.title}"]
    spot = finding.site
    if spot is not None and finding.tool != "racecheck":
        lines.append(f"    at {spot.where}")
        lines.append(f"    by {spot.who}")
    lines += [f"    {detail}" for detail in finding.details]
    ours = [f"kernel {finding.kernel}, launch {finding.launch}"] if finding.kernel else []
    if spot is not None and spot.sass:
        ours.append(f"{spot.sass}" + (f"    ({spot.file}:{spot.line})" if spot.line else ""))
    if spot is not None and spot.inlined:
        ours.append(f"inlined at {', '.join(spot.inlined)}")
    if finding.count > 1 and finding.tool != "racecheck":
        ours.append(f"seen {finding.count:,} times; this is the first")
    ours += [note for note in finding.notes if note]
    return "\n".join(
        [*(f"{_RULE} {line}" for line in lines), *(f"{_RULE}   warpath: {line}" for line in ours), _RULE]
    )


def summary(count: int, suppressed: int) -> str:
    """compute-sanitizer's last line."""
    more = f" ({suppressed} suppressed)" if suppressed else ""
    return f"{_RULE} ERROR SUMMARY: {count} error{'' if count == 1 else 's'}{more}"


def render_all(findings: Iterable[Fault]) -> str:
    """All findings, one after the other."""
    return "\n".join(render(finding) for finding in findings)
