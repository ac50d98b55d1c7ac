"""A report for people: lines for a terminal, a page for a browser. Both have the content of its JSON."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from foja.judge.report import Report, Verdict, instant, plain
from foja.proofs.finding import Finding, Status

_VERDICTS = {
    Verdict.TOTAL_PASSED: "all required evidence is verified",
    Verdict.INDETERMINATE: "nothing is invalid, but not all required evidence is verified",
    Verdict.TOTAL_FAILED: "some evidence is invalid: do not rely on it",
}
_MARKS = {Status.VERIFIED: "✓", Status.INVALID: "✗"}
_NAMES = {
    "tsa": "timestamp authority",
    "bitcoin": "Bitcoin",
    "polygon": "Polygon",
    "rekor": "transparency log",
    "ledger": "ledger",
    "container": "bundle",
    "seal": "timestamp over the bundle",
    "document": "document",
    "bundle": "proof over the bundle file",
    "proof": "proof",
}


def as_text(report: Report) -> str:
    """Return the report as lines, the verdict first."""
    return "\n".join(_lines(report)) + "\n"


def as_html(report: Report) -> str:
    """Return the report as one self-contained page: no script, no image, no link."""
    rows = "".join(map(_row, report.evidence)) or '<tr><td colspan="4">no evidence was given</td></tr>'
    return _PAGE.format(
        verdict=escape(report.verdict.value),
        kind=report.verdict.value.lower(),
        sentence=escape(_VERDICTS[report.verdict]),
        claim="".join(f"<p>{escape(line)}</p>" for line in _claim(report)),
        subject="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(report)),
        rows=rows,
        json=escape(report.json().decode()),
    )


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.verdict.value}: {_VERDICTS[report.verdict]}"
    yield from _claim(report)
    for name, value in _facts(report):
        yield f"  {name}: {value}"
    for finding in report.evidence:
        yield f"{_MARKS.get(finding.status, '·')} {_title(finding)}: {_outcome(finding)}"
        yield f"    {plain(finding.detail)}"
        for each in finding.not_checked:
            yield f"    not checked: {plain(each)}"


def _claim(report: Report) -> Iterator[str]:
    earliest = report.earliest
    if earliest:
        about = "about " if earliest.evidence == "bitcoin" else ""
        when, who = instant(earliest.no_later_than), plain(earliest.according_to)
        yield f"It existed no later than {about}{when}, according to {who}."
    if revoked := report.revoked:
        reason = f": {plain(revoked.reason)}" if revoked.reason else ""
        yield f"The document was revoked on {instant(revoked.at)} (event {revoked.seq}){reason}"
    if not report.evidence:
        yield "No evidence was given."


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    if report.subject.name:
        yield "name", plain(report.subject.name) or ""
    if report.subject.sha256:
        yield "sha256", report.subject.sha256.hex()
    yield "judged as of", instant(report.at) or ""
    if report.required is not None:
        yield "required", ", ".join(report.required) or "nothing by name"


def _title(finding: Finding) -> str:
    title = _NAMES.get(finding.evidence, plain(finding.evidence) or "")
    return f"{title} ({plain(finding.name)})" if finding.name else title


def _outcome(finding: Finding) -> str:
    return f"{finding.status.value} {finding.reason.value}" if finding.reason else finding.status.value


def _row(finding: Finding) -> str:
    not_checked = "".join(f"<li>{escape(plain(each) or '')}</li>" for each in finding.not_checked)
    when = escape(instant(finding.no_later_than) or "–")
    return (
        f'<tr class="{finding.status.value.lower()}"><th>{escape(_title(finding))}</th>'
        f"<td>{escape(_outcome(finding))}</td><td>{when}</td>"
        f"<td>{escape(plain(finding.detail) or '')}"
        f"{f'<ul>{not_checked}</ul>' if not_checked else ''}</td></tr>"
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{verdict}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h1 {{ border-left: .5rem solid; padding-left: .75rem; }}
.total_passed {{ color: #17612f; }} .indeterminate {{ color: #8a5a00; }} .total_failed {{ color: #a11; }}
dt {{ font-weight: bold; }} dd {{ margin: 0 0 .5rem; overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-top: 1px solid #ccc; padding: .5rem; text-align: left; vertical-align: top;
 overflow-wrap: anywhere; }}
tr.verified td:nth-child(2) {{ color: #17612f; }} tr.invalid td:nth-child(2) {{ color: #a11; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; }}
</style>
</head>
<body>
<h1 class="{kind}">{verdict}</h1>
<p>{sentence}</p>
{claim}
<dl>{subject}</dl>
<table>
<thead><tr><th>evidence</th><th>status</th><th>no later than</th><th>what it shows, and what was not
checked</th></tr></thead>
<tbody>{rows}</tbody>
</table>
<details><summary>the whole report</summary><pre>{json}</pre></details>
</body>
</html>
"""
