"""Texts of the pages of galleries."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "galleries": ("Galleries", "Galerías"),
    "galleries_lead": (
        "The images of each product, in one order without gaps; the first one is the main image.",
        "Las imágenes de cada producto, en un orden sin huecos; la primera es la principal.",
    ),
    "gallery": ("Gallery", "Galería"),
    "none": ("No galleries yet", "Todavía no hay galerías"),
    "none_hint": ("Upload images above to make one.", "Suba imágenes arriba para crear una."),
    "images": ("images", "imágenes"),
    "empty": ("This gallery has no images", "Esta galería no tiene imágenes"),
    "empty_hint": ("Upload some above.", "Suba algunas arriba."),
    "drop_new": (
        "Drop images for a new gallery here, or choose them",
        "Suelte imágenes para una galería nueva, o elíjalas",
    ),
    "drop": ("Drop images here, or choose them", "Suelte imágenes aquí, o elíjalas"),
    "order_hint": (
        "Drag an image to its place, or use its arrows. Alt and an arrow key move the image in focus.",
        "Arrastre una imagen a su lugar, o use sus flechas. Alt y una flecha mueven la imagen enfocada.",
    ),
    "main": ("main", "principal"),
    "place": ("Place {number}", "Lugar {number}"),
    "earlier": ("Move earlier", "Mover antes"),
    "later": ("Move later", "Mover después"),
    "alt": ("Alternative text", "Texto alternativo"),
    "details": ("Details", "Detalles"),
    "original": ("Original", "Original"),
    "external": ("stored elsewhere", "guardada en otro lugar"),
    "erased": ("erased", "borrada"),
    "no_picture": ("no picture yet", "todavía sin vista"),
    "queued": ("variants queued", "variantes en cola"),
    "processing": ("being rendered", "procesando"),
    "success": ("rendered", "lista"),
    "error": ("rendering failed", "falló el procesamiento"),
    "skipped": ("not rendered", "sin procesar"),
    "again": ("Render again", "Procesar de nuevo"),
    "force": ("Render again anyway", "Procesar de todos modos"),
    "spent": (
        "as many as are allowed; it is not tried again by itself",
        "tantos como se permiten; no se vuelve a intentar por sí sola",
    ),
    "attempts": ("attempts: {number}", "intentos: {number}"),
    "unnamed": ("without alternative text", "sin texto alternativo"),
}
