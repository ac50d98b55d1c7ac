"""Texts of the page that describes the HTTP API."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "reference": ("HTTP reference", "Referencia HTTP"),
    "intro": (
        "Every address, what it takes and what it answers. Errors are problem documents (RFC 9457).",
        "Cada dirección, lo que recibe y lo que responde. Los errores son documentos de problema (RFC 9457).",
    ),
    "schemas": ("Objects", "Objetos"),
    "parameters": ("parameters", "parámetros"),
    "body": ("body", "cuerpo"),
    "required": ("required", "obligatorio"),
}
