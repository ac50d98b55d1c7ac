"""The certificate: a report on one page for people. It proves nothing itself.

`page.certificate` makes it: PDF/A-3, English or Spanish, the same bytes for the same report.
"""
