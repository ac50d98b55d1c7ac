"""Texts of the page of hygiene."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "hygiene": ("Hygiene", "Limpieza"),
    "hygiene_lead": (
        "Stored objects that nothing refers to. They are deleted late, and only after several checks.",
        "Objetos guardados sin ninguna referencia. Se borran tarde, y solo después de varias revisiones.",
    ),
    "armed": ("Automatic purge is armed", "La purga automática está activada"),
    "unarmed": ("Automatic purge is not armed", "La purga automática no está activada"),
    "armed_why": (
        "{days} of {needed} good days: daily scans with candidates and no false positive.",
        "{days} de {needed} días buenos: revisiones diarias con candidatos y sin falsos positivos.",
    ),
    "brake": ("Nothing may be purged now: {reason}", "Ahora no se puede purgar nada: {reason}"),
    "brake_first": ("scan first.", "revise primero."),
    "no_brake": ("A purge may run now.", "Ahora se puede ejecutar una purga."),
    "objects": ("live objects", "objetos vivos"),
    "candidates_now": ("candidates", "candidatos"),
    "due": ("due", "por purgar"),
    "quarantined": ("in quarantine", "en cuarentena"),
    "false_positives": ("false positives", "falsos positivos"),
    "ratio": ("taken back, of all staged", "retirados, de todos los señalados"),
    "deleted": ("deleted for good", "borrados definitivamente"),
    "last_scan": ("Last complete scan", "Última revisión completa"),
    "actions": ("Actions", "Acciones"),
    "scan": ("Scan", "Revisar"),
    "dry_scan": ("Dry scan", "Revisar sin señalar"),
    "purge": ("Purge what is due", "Purgar lo vencido"),
    "dry_purge": ("Dry run of a purge", "Ensayo de purga"),
    "candidates": ("Candidates", "Candidatos"),
    "object": ("Object", "Objeto"),
    "found": ("Found", "Encontrado"),
    "bytes": ("Size", "Tamaño"),
    "state": ("State", "Estado"),
    "object_intent": ("being stored", "guardándose"),
    "object_live": ("live", "vivo"),
    "object_quarantined": ("in quarantine", "en cuarentena"),
    "object_stray": ("without a row", "sin fila"),
    "restore": ("Restore", "Restaurar"),
    "restored": ("The object is live again.", "El objeto está vivo otra vez."),
    "none": ("No candidates", "Sin candidatos"),
    "none_hint": (
        "Everything that is stored is referred to, as far as the last scan saw.",
        "Todo lo guardado tiene una referencia, hasta donde vio la última revisión.",
    ),
    "runs": ("Runs", "Ejecuciones"),
    "ended": ("Ended", "Terminó"),
    "action": ("Action", "Acción"),
    "outcome": ("Outcome", "Resultado"),
    "checked": ("Checked", "Revisados"),
    "staged": ("Staged", "Señalados"),
    "no_runs": ("No run yet.", "Todavía no hay ejecuciones."),
    "action_scan": ("scan", "revisión"),
    "action_purge": ("purge", "purga"),
    "outcome_complete": ("complete", "completa"),
    "outcome_aborted": ("aborted", "interrumpida"),
    "result_dry": ("Dry run: nothing was changed.", "Ensayo: no se cambió nada."),
    "result_scan": (
        "{checked} objects checked; {staged} without a reference; {missing} missing.",
        "{checked} objetos revisados; {staged} sin referencia; faltan {missing}.",
    ),
    "result_purge": (
        "{quarantined} put in quarantine; {deleted} deleted.",
        "{quarantined} puestos en cuarentena; {deleted} borrados.",
    ),
    "result_aborted": ("Aborted: {reason}", "Interrumpida: {reason}"),
}
