"""Texts of the overview."""

from __future__ import annotations

from typing import Final

from foja.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "overview": ("Overview", "Resumen"),
    "needs": ("What needs a person now", "Qué requiere a una persona ahora"),
    "needs_nothing": ("Nothing needs you now.", "Nada requiere su atención ahora."),
    "needs_nothing_hint": (
        "Work goes on by itself; what fails for good appears here.",
        "El trabajo sigue por sí solo; lo que falle definitivamente aparece aquí.",
    ),
    "need_alerts": ("Alerts that fire: {count}.", "Alertas activas: {count}."),
    "need_halted": ("The log is halted: {reason}.", "El registro está detenido: {reason}."),
    "need_dead": ("Jobs that failed for good: {count}.", "Tareas que fallaron definitivamente: {count}."),
    "need_documents": (
        "Documents whose evidence was given up: {count}.",
        "Documentos cuya evidencia se abandonó: {count}.",
    ),
    "need_approvals": (
        "Tools of agents that wait for a decision: {count}.",
        "Herramientas de agentes que esperan una decisión: {count}.",
    ),
    "need_workers": (
        "A job has waited for a worker for {span}. Does `foja worker` run?",
        "Una tarea espera desde hace {span} a que alguien la tome. ¿Está en marcha `foja worker`?",
    ),
    "need_paused": ("{type} is paused.", "{type} está en pausa."),
    "need_held": ("No batch is sent to {network} now.", "Ahora no se envía ningún lote a {network}."),
    "open": ("Open", "Abrir"),
    "volume": ("Jobs that ended, by hour (UTC)", "Tareas terminadas, por hora (UTC)"),
    "latency": (
        "Time to the end, 95 % of jobs (seconds)",
        "Tiempo hasta el final, 95 % de las tareas (segundos)",
    ),
    "as_table": ("As a table", "Como tabla"),
    "hour": ("Hour", "Hora"),
    "ended": ("Ended", "Terminadas"),
    "failed": ("Failed", "Fallidas"),
    "p95": ("95 % within", "95 % en"),
    "no_jobs": ("No job ended in the last 24 hours.", "Ninguna tarea terminó en las últimas 24 horas."),
    "health": ("Health", "Salud"),
    "part_database": ("Database", "Base de datos"),
    "part_log": ("Log", "Registro"),
    "part_workers": ("Workers", "Procesos de trabajo"),
    "part_tsa": ("Timestamp authority", "Autoridad de sellado"),
    "part_networks": ("Networks", "Redes"),
    "part_store": ("Object store", "Almacén de objetos"),
    "state_answers": ("answers", "responde"),
    "state_works": ("works", "funciona"),
    "state_quiet": ("nothing new lately", "sin novedades recientes"),
    "state_halted": ("halted", "detenido"),
    "state_slow": ("slow", "lento"),
    "state_local": ("local, for tests", "local, para pruebas"),
    "state_set": ("set up", "configurado"),
    "state_unset": ("none set up", "ninguna configurada"),
    "state_held": ("held back", "retenida"),
    "newest": ("newest checkpoint {span} ago", "punto de control más nuevo: hace {span}"),
    "oldest": ("oldest waiting job: {span}", "tarea más antigua en espera: {span}"),
    "criteria": ("Closing criteria of the images", "Criterios de cierre de las imágenes"),
    "criteria_lead": (
        "Each phase may be closed when its value is at most the threshold, and was measured.",
        "Cada fase se puede cerrar cuando su valor es a lo más el umbral y fue medido.",
    ),
    "phase": ("Phase", "Fase"),
    "criterion": ("Criterion", "Criterio"),
    "value": ("Value", "Valor"),
    "threshold": ("Threshold", "Umbral"),
    "result": ("Result", "Resultado"),
    "met": ("met", "cumplido"),
    "not_met": ("not met", "no cumplido"),
    "not_measured": ("not measured", "sin medir"),
    "phase_consistency": ("consistency", "consistencia"),
    "phase_observability": ("observability", "observabilidad"),
    "phase_hygiene": ("hygiene", "limpieza"),
    "phase_security": ("security", "seguridad"),
    "criterion_consistency": (
        "gaps, duplicates and galleries without a main image",
        "huecos, duplicados y galerías sin imagen principal",
    ),
    "criterion_observability": (
        "share of attempts that failed; jobs have durations",
        "proporción de intentos fallidos; las tareas tienen duración",
    ),
    "criterion_hygiene": (
        "false positives of seven days; a scan on each of them",
        "falsos positivos de siete días; una revisión en cada uno",
    ),
    "criterion_security": (
        "rights of anon and authenticated that go past row level security",
        "permisos de anon y authenticated que eluden la seguridad por filas",
    ),
}
