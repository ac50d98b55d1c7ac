"""A report for people, in English and in Spanish: lines for a terminal, a page for a browser.

Both begin with the sentences of `headline`; verdict and codes come after them. The certificate
(`foja.interfaces.certificate`) has the same sentences as a PDF.
"""

from foja.pure.judge.render.page import as_html
from foja.pure.judge.render.text import as_text

__all__ = ["as_html", "as_text"]
