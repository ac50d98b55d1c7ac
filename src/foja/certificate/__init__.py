"""The certificate for people: what a judgement found, on one page a judge can read. It proves nothing.

`page.certificate` makes it: PDF/A-3, English or Spanish, the same bytes for the same report.
"""
