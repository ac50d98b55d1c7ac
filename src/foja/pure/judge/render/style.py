"""The stylesheet and the icons of the page."""

from __future__ import annotations

from typing import Final

_ICON = '<svg class="icon" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="22"/>{}</svg>'
ICONS: Final = {
    "passed": _ICON.format('<path d="M14 25l7 7 13-15"/>'),
    "caution": _ICON.format('<path d="M24 12v15M24 34v1"/>'),
    "undecided": _ICON.format('<path d="M18 19a6 6 0 1 1 9 5c-2 1.200-3 2.500-3 5M24 35v1"/>'),
    "failed": _ICON.format('<path d="M16 16l16 16M32 16L16 32"/>'),
}

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5c6570; --line: #dfe3e8; --back: #f4f5f7;
  --card: #fff; --tone: #17693a; --wash: #e9f5ee; --mono: ui-monospace, "SF Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a2abb6; --line: #343b44;
  --back: #14171b; --card: #1d2127; --tone: #62c58c; --wash: #16281e; } }
body.caution { --tone: #8a5a00; --wash: #fdf4e1; }
body.undecided { --tone: #3b5b8c; --wash: #ebf1fa; }
body.failed { --tone: #a3242b; --wash: #fcebec; }
@media (prefers-color-scheme: dark) { body.caution { --tone: #e2b04a; --wash: #2a2314; }
  body.undecided { --tone: #8fb3e8; --wash: #18222f; } body.failed { --tone: #f08a8f; --wash: #2e1719; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  overflow-wrap: anywhere; }
p, h1, h2, h3, h4, ul, ol, dl, dd { margin: 0; padding: 0; }
ul, ol { list-style: none; }
.top { max-width: 60rem; margin: 0 auto; padding: 1.25rem 1.25rem .75rem; display: flex; gap: .75rem;
  align-items: baseline; color: var(--soft); font-size: .875rem; }
.mark { font: italic 600 1.25rem Georgia, "Liberation Serif", serif; color: var(--ink); }
main { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem 3rem; display: grid; gap: 1.25rem; }
section, details { background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 1.25rem; min-width: 0; }
.headline { background: var(--wash); border-color: transparent; border-left: .375rem solid var(--tone);
  display: grid; grid-template-columns: 3rem 1fr; gap: .25rem 1.125rem; padding: 1.75rem 1.5rem; }
.icon { width: 3rem; height: 3rem; fill: none; stroke: var(--tone); stroke-width: 3.5;
  stroke-linecap: round; stroke-linejoin: round; }
h1 { font: 600 1.5rem/1.35 Georgia, "Liberation Serif", "Times New Roman", serif; text-wrap: pretty; }
.more { grid-column: 2; display: grid; gap: .625rem; margin-top: .875rem; }
.more b { color: var(--tone); }
h2 { font-size: .8125rem; font-weight: 650; letter-spacing: .06em; text-transform: uppercase;
  color: var(--soft); margin-bottom: .875rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .5rem 1.5rem; }
dt { color: var(--soft); }
.said { display: grid; gap: .5rem; margin-top: .5rem; }
blockquote { margin: .25rem 0 0; padding: .25rem .75rem; border-left: .1875rem solid var(--line);
  font-family: var(--mono); font-size: .8125rem; white-space: pre-wrap; }
.mono, code, pre { font-family: var(--mono); font-size: .8125rem; }
.mono { user-select: all; align-self: center; }
.items { display: grid; gap: .75rem; }
.items span { color: var(--soft); }
.items .mono { display: block; color: var(--soft); }
.timeline ol { display: grid; gap: 1rem; }
.timeline li { display: grid; grid-template-columns: 20rem 1fr; column-gap: 2.5rem;
  align-items: baseline; position: relative; }
.timeline time { color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums;
  text-align: right; grid-row: span 2; }
.timeline li > span { grid-column: 2; color: var(--soft); font-size: .875rem; }
.timeline li::before { content: ""; position: absolute; left: 20.875rem; top: .375rem; width: .75rem;
  height: .75rem; border-radius: 50%; background: var(--card); border: .1875rem solid var(--soft);
  z-index: 1; }
.timeline li:not(:last-child)::after { content: ""; position: absolute; left: 21.1875rem; top: .875rem;
  bottom: -1.375rem; width: .125rem; background: var(--line); }
.timeline .proof::before { background: #2e7d4f; border-color: #2e7d4f; }
.timeline .revoked::before { background: #a3242b; border-color: #a3242b; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
article:first-of-type { border-top: 0; padding-top: 0; } article:last-child { padding-bottom: 0; }
article header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline;
  justify-content: space-between; margin-bottom: .25rem; }
h3 { font-size: 1rem; font-weight: 650; }
.status { font-size: .875rem; font-weight: 650; color: #3b5b8c; }
.verified .status { color: #17693a; } .invalid .status { color: #a3242b; }
.pending .status { color: #8a5a00; }
@media (prefers-color-scheme: dark) { .status { color: #8fb3e8; } .verified .status { color: #62c58c; }
  .invalid .status { color: #f08a8f; } .pending .status { color: #e2b04a; } }
.status code { font-weight: 400; color: var(--soft); }
.by { font-weight: 500; } .by + p, .detail { color: var(--soft); font-size: .875rem; }
.unchecked { margin-top: .625rem; padding: .5rem .75rem; border-left: .1875rem solid var(--line);
  font-size: .875rem; }
h4 { font-size: .875rem; font-weight: 650; color: var(--soft); }
.unchecked li { padding-left: 1rem; position: relative; }
.unchecked li::before { content: "–"; position: absolute; left: 0; color: var(--soft); }
summary { cursor: pointer; color: var(--soft); } pre { white-space: pre-wrap; margin: 1rem 0 0; }
@media (max-width: 44rem) {
  .headline { grid-template-columns: 1fr; padding: 1.25rem; } .more { grid-column: 1; }
  .icon { width: 2.5rem; height: 2.5rem; margin-bottom: .5rem; } h1 { font-size: 1.25rem; }
  .top, main { padding-left: .75rem; padding-right: .75rem; } section, details { padding: 1rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .625rem; }
  .timeline li { grid-template-columns: 1fr; padding-left: 1.75rem; }
  .timeline time { text-align: left; grid-row: auto; }
  .timeline li > span { grid-column: 1; } .timeline li::before { left: 0; }
  .timeline li:not(:last-child)::after { left: .3125rem; }
}
@page { size: A4; margin: 18mm 16mm; }
@media print {
  :root, body { --ink: #000; --soft: #444; --line: #bbb; --back: #fff; --card: #fff; --wash: #fff; }
  body { font-size: 10pt; background: #fff; }
  .top, main { max-width: none; padding-left: 0; padding-right: 0; }
  main { display: block; } section { border: 0; border-radius: 0; padding: 0; margin-bottom: 7mm; }
  .headline { border-left: 1.5mm solid var(--tone); padding: 1mm 0 1mm 5mm; } h1 { font-size: 15pt; }
  h2 { border-bottom: 1px solid var(--line); padding-bottom: 1mm; break-after: avoid; }
  article, .timeline li, .items li, .headline { break-inside: avoid; } details { display: none; }
  .mono { font-size: 8.5pt; } .timeline li::before, .headline { print-color-adjust: exact; }
}
"""
