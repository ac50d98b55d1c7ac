"""Resumable uploads."""

from __future__ import annotations

from foja.answers.documents import AddedDocument
from foja.web.reference.answers.answer import Answer, Problem
from foja.web.reference.answers.galleries import ImageAnswer


class UploadAnswer(Answer):
    """How far an upload is, and what it became: a document, an image, or nothing and why."""

    offset: int
    length: int
    finished: bool
    document: AddedDocument | None
    image: ImageAnswer | None
    problem: Problem | None
