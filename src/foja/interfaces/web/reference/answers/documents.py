"""The report about a document."""

from __future__ import annotations

from typing import Any, Literal

from foja.interfaces.web.reference.answers.answer import Answer

DIGEST = "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069"


class ReportAnswer(Answer):
    """The report of the judge (`foja/report/v1`; docs/verify.md)."""

    form: Literal["foja/report/v1"]
    verdict: Literal["TOTAL_PASSED", "INDETERMINATE", "TOTAL_FAILED"]
    at: str
    headline: list[str]
    subject: dict[str, Any]
    no_later_than: str | None
    according_to: str | None
    required: list[str] | None
    evidence: list[dict[str, Any]]
    policy: dict[str, Any] | None
    history: list[dict[str, Any]]
    revoked: dict[str, Any] | None = None
    contents: dict[str, Any] | None = None
