"""Texts of the page that shows the components."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "design": ("Design", "Diseño"),
    "design_lead": (
        "Every component of the pages, once. A page is made of these and of nothing else.",
        "Cada componente de las páginas, una vez. Una página se hace con estos y con nada más.",
    ),
    "type": ("Type", "Tipografía"),
    "sample": (
        "A digest says which bytes; a timestamp says since when.",
        "Una huella dice qué bytes; un sello de tiempo dice desde cuándo.",
    ),
    "colours": ("Colours", "Colores"),
    "tone_good": ("done, verified", "hecho, verificado"),
    "tone_warn": ("waits for a person", "espera a una persona"),
    "tone_info": ("in progress", "en curso"),
    "tone_bad": ("failed, refused", "falló, rechazado"),
    "badges": ("Badges and buttons", "Etiquetas y botones"),
    "main_action": ("Main action", "Acción principal"),
    "action": ("Action", "Acción"),
    "dangerous": ("Dangerous action", "Acción peligrosa"),
    "disabled": ("Not possible now", "No es posible ahora"),
    "table": ("Table", "Tabla"),
    "name": ("Name", "Nombre"),
    "state": ("State", "Estado"),
    "count": ("Count", "Cantidad"),
    "when": ("When", "Cuándo"),
    "form": ("Form", "Formulario"),
    "hint": ("A hint below the field", "Una ayuda debajo del campo"),
    "timeline": ("Timeline", "Línea de tiempo"),
    "charts": ("Charts", "Gráficos"),
    "states": ("States of a page", "Estados de una página"),
    "nothing": ("Nothing here yet", "Todavía no hay nada"),
    "nothing_hint": ("What to do to change that.", "Qué hacer para cambiarlo."),
    "loading": ("Loading", "Cargando"),
    "failed": ("This was refused", "Esto fue rechazado"),
    "failed_hint": ("Why, and what to do next.", "Por qué, y qué hacer después."),
    "forbidden": ("You may not do this", "No tiene permiso para esto"),
    "forbidden_hint": ("Which right is missing, and whom to ask.", "Qué permiso falta, y a quién pedirlo."),
}
