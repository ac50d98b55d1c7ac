"""Texts of the page of alerts."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "alerts": ("Alerts", "Alertas"),
    "alerts_lead": (
        "What is wrong now, and what to do about it.",
        "Qué está mal ahora, y qué hacer al respecto.",
    ),
    "none": ("Nothing is wrong", "Nada está mal"),
    "none_hint": (
        "Every condition below was checked just now, and no alert fires.",
        "Cada condición de abajo se acaba de revisar, y ninguna alerta está activa.",
    ),
    "fires": ("Alerts that fire: {count}", "Alertas activas: {count}"),
    "fires_hint": (
        "Each of them has a runbook: what it means, how to see it, what to do.",
        "Cada una tiene su guía: qué significa, cómo verlo, qué hacer.",
    ),
    "holds": ("Conditions that need someone: {count}", "Condiciones que requieren a alguien: {count}"),
    "holds_hint": (
        "They are at the top of the list below.",
        "Están al inicio de la lista de abajo.",
    ),
    "checked": ("Your work", "Su trabajo"),
    "checked_lead": (
        "What concerns your documents, conversations and jobs.",
        "Lo que concierne a sus documentos, conversaciones y tareas.",
    ),
    "all_alerts": ("Alerts of the installation", "Alertas de la instalación"),
    "evaluated": ("Evaluated {span} ago.", "Evaluadas hace {span}."),
    "evaluated_never": ("Not evaluated yet.", "Aún sin evaluar."),
    "stale": ("The alerts are not evaluated", "Las alertas no se evalúan"),
    "stale_hint": (
        "A worker evaluates them. Check that `foja worker` runs, and that `FOJA_ALERT_SECONDS` is not 0.",
        "Las evalúa un proceso de trabajo. Revise `foja worker`, y que `FOJA_ALERT_SECONDS` no sea 0.",
    ),
    "installation_only": (
        "The alerts of the installation are shown to its operators only.",
        "Las alertas de la instalación se muestran solo a sus operadores.",
    ),
    "group_ledger": ("Ledger", "Libro"),
    "group_documents": ("Documents", "Documentos"),
    "group_jobs": ("Jobs", "Tareas"),
    "group_images": ("Images", "Imágenes"),
    "group_store": ("Object store", "Almacén de objetos"),
    "group_anchors": ("Anchors", "Anclajes"),
    "group_servers": ("Servers", "Servidores"),
    "alert": ("Alert", "Alerta"),
    "limit": ("Limit", "Límite"),
    "over": ("more than {limit}", "más de {limit}"),
    "under": ("less than {limit}", "menos de {limit}"),
    "over_for": ("for {span}", "durante {span}"),
    "no_limit": ("no limit", "sin límite"),
    "runbook": ("Runbook", "Guía"),
    "runbook_published": ("Your published runbook", "Su guía publicada"),
    "runbook_missing": (
        "This installation has no text of this runbook; it is in `docs/runbooks` of the source.",
        "Esta instalación no tiene el texto de esta guía; está en `docs/runbooks` del código.",
    ),
    "any_network": ("a network", "una red"),
    "since": ("since {time}", "desde {time}"),
    "pending": ("over its limit", "sobre su límite"),
    "unread": ("not evaluated", "sin evaluar"),
    "unread_hint": ("its metrics cannot be read", "sus métricas no se pueden leer"),
    "unevaluated": ("not evaluated", "sin evaluar"),
    "off": ("off", "desactivada"),
    "elsewhere": ("not evaluated", "sin evaluar"),
    "elsewhere_hint": ("only Prometheus can tell", "solo Prometheus puede saberlo"),
    "critical": ("critical", "crítica"),
    "warning": ("warning", "advertencia"),
    "critical_hint": ("a person, now", "una persona, ahora"),
    "warning_hint": ("a person, today", "una persona, hoy"),
    "severity": ("Severity", "Gravedad"),
    "recent": ("What fired and cleared", "Qué se activó y qué se resolvió"),
    "recent_none": ("No alert has fired.", "Ninguna alerta se ha activado."),
    "when": ("Time", "Hora"),
    "event": ("Event", "Suceso"),
    "fired": ("fired", "activada"),
    "cleared": ("cleared", "resuelta"),
    "undelivered": ("not delivered to {channels}", "sin entregar a {channels}"),
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
