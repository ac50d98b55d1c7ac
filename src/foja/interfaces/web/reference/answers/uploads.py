"""Resumable uploads."""

from __future__ import annotations

from foja.interfaces.answers.documents import AddedDocument
from foja.interfaces.answers.images import ImageView
from foja.interfaces.answers.problem import Problem
from foja.interfaces.web.reference.answers.answer import Answer


class UploadAnswer(Answer):
    """How far an upload is, and what it became: a document, an image, or nothing and why."""

    offset: int
    length: int
    finished: bool
    document: AddedDocument | None
    image: ImageView | None
    problem: Problem | None
