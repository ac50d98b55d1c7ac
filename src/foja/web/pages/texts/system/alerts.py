"""Texts of the page of alerts."""

from __future__ import annotations

from typing import Final

from foja.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "alerts": ("Alerts", "Alertas"),
    "alerts_lead": (
        "What is wrong now, and what to do about it.",
        "Qué está mal ahora, y qué hacer al respecto.",
    ),
    "none": ("Nothing is wrong", "Nada está mal"),
    "none_hint": (
        "Every condition below was checked just now.",
        "Cada condición de abajo se acaba de revisar.",
    ),
    "checked": ("What is checked", "Qué se revisa"),
    "condition": ("Condition", "Condición"),
    "value": ("Value", "Valor"),
    "state": ("State", "Estado"),
    "todo": ("What to do", "Qué hacer"),
    "firing": ("firing", "activa"),
    "quiet": ("quiet", "tranquila"),
    "dead_jobs": ("Jobs that failed for good", "Tareas que fallaron definitivamente"),
    "dead_jobs_do": (
        "Read their error on the page of jobs; correct the cause; retry them.",
        "Lea su error en la página de tareas; corrija la causa; reinténtelas.",
    ),
    "stuck_documents": ("Documents whose evidence was given up", "Documentos cuya evidencia se abandonó"),
    "stuck_documents_do": (
        "Open the document: it says why. Retry grants new attempts.",
        "Abra el documento: dice por qué. Reintentar concede intentos nuevos.",
    ),
    "queue": ("Age of the oldest job that could run", "Edad de la tarea más antigua que podría ejecutarse"),
    "queue_do": (
        "Check that `foja worker` runs, and that no type is paused.",
        "Revise que `foja worker` esté en marcha y que ningún tipo esté en pausa.",
    ),
    "halted": ("The log is halted", "El registro está detenido"),
    "halted_do": (
        "Do not delete anything. Read `foja log restart --help` before you restart it.",
        "No borre nada. Lea `foja log restart --help` antes de reiniciarlo.",
    ),
    "held": ("Networks that send no batch", "Redes que no envían lotes"),
    "held_do": (
        "The page of anchors says why: daily cap, balance or node.",
        "La página de anclajes dice por qué: tope diario, saldo o nodo.",
    ),
    "paused": ("Paused job types", "Tipos de tareas en pausa"),
    "paused_do": (
        "Resume them on the page of jobs when the reason is gone.",
        "Reanúdelos en la página de tareas cuando la razón haya pasado.",
    ),
}
