"""Texts of the page of jobs."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "jobs": ("Jobs", "Tareas"),
    "jobs_lead": (
        "What follows from events: done once, in time, and again after a failure.",
        "Lo que sigue de los eventos: se hace una vez, a tiempo, y otra vez tras un fallo.",
    ),
    "queued": ("queued", "en cola"),
    "running": ("running", "en curso"),
    "succeeded": ("succeeded", "terminada"),
    "retry_scheduled": ("will be retried", "se reintentará"),
    "dead": ("failed for good", "falló definitivamente"),
    "cancelled": ("cancelled", "cancelada"),
    "state": ("State", "Estado"),
    "type": ("Type", "Tipo"),
    "any_type": ("any type", "cualquier tipo"),
    "entity": ("Stream (id)", "Secuencia (id)"),
    "job": ("Job", "Tarea"),
    "tries": ("Tries", "Intentos"),
    "when": ("When", "Cuándo"),
    "runs_at": ("runs {time}", "se ejecuta {time}"),
    "ended_at": ("ended {time}", "terminó {time}"),
    "until": ("until {time}", "hasta {time}"),
    "stream": ("stream", "secuencia"),
    "newest_only": (
        "Among the newest {count} jobs. All of them: `foja jobs list --type {type}`.",
        "Entre las {count} tareas más nuevas. Todas: `foja jobs list --type {type}`.",
    ),
    "none": ("No job matches", "Ninguna tarea coincide"),
    "none_hint": ("Remove a filter to see more.", "Quite un filtro para ver más."),
    "bulk": ("All of this filter", "Todas las de este filtro"),
    "retry_all": ("Retry all", "Reintentar todas"),
    "cancel_all": ("Cancel all", "Cancelar todas"),
    "bulk_hint": ("Up to {count} at once.", "Hasta {count} a la vez."),
    "done": (
        "Done for {done} jobs; refused for {refused}.",
        "Hecho para {done} tareas; rechazado para {refused}.",
    ),
    "unhandled": (
        "`{type}`: {count} jobs are ready, and no running worker does this type. Start `foja worker`.",
        "`{type}`: {count} tareas listas, y ningún proceso de trabajo hace ese tipo. Inicie `foja worker`.",
    ),
    "unhandled_own": (
        (
            "`{type}`: {count} jobs are ready, and no running worker does this type. "
            "Your program needs a handler: `app.workers.add('{type}', handler)`, then `app.work()`."
        ),
        (
            "`{type}`: {count} tareas listas, y ningún proceso de trabajo hace ese tipo. "
            "Su programa necesita una función: `app.workers.add('{type}', handler)`, y luego `app.work()`."
        ),
    ),
    "types": ("Job types", "Tipos de tareas"),
    "paused": ("paused", "en pausa"),
    "active": ("active", "activo"),
    "pause": ("Pause", "Pausar"),
    "resume": ("Resume", "Reanudar"),
}
