"""Texts of the page of the ledger."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "ledger": ("Ledger", "Libro"),
    "ledger_lead": (
        "Every event is a leaf of one log. Its checkpoints are signed, published and never contradicted.",
        "Cada evento es una hoja de un registro. Sus puntos de control se publican y nunca se contradicen.",
    ),
    "prove": ("Prove an event", "Probar un evento"),
    "prove_lead": (
        "The proof that an event is in the log, checked here as a verifier would.",
        "La prueba de que un evento está en el registro, revisada aquí como lo haría un verificador.",
    ),
    "stream": ("Stream (id)", "Secuencia (id)"),
    "number": ("Number of the event", "Número del evento"),
    "prove_now": ("Show the proof", "Mostrar la prueba"),
    "leaf": ("Leaf", "Hoja"),
    "size": ("Size of the checkpoint", "Tamaño del punto de control"),
    "whole_file": ("Proof as one file (.foja-proof)", "Prueba en un archivo (.foja-proof)"),
    "proof_file": ("Proof (.tlog-proof)", "Prueba (.tlog-proof)"),
    "event_file": ("Event (.event.json)", "Evento (.event.json)"),
    "proof_text": ("The proof", "La prueba"),
    "event_text": ("The event", "El evento"),
    "checkpoints": ("Newest checkpoints", "Puntos de control más nuevos"),
    "log": ("Log", "Registro"),
    "entries": ("Entries", "Entradas"),
    "root": ("Root", "Raíz"),
    "published": ("Published", "Publicado"),
    "cosigned": ("Cosigned", "Cofirmado"),
    "no_checkpoints": ("No checkpoint yet", "Todavía no hay puntos de control"),
    "no_checkpoints_hint": (
        "One is published soon after the first event, while `foja worker` or `foja up` runs.",
        "Se publica uno poco después del primer evento, mientras `foja worker` o `foja up` está en marcha.",
    ),
    "key": ("Key of the log", "Clave del registro"),
    "key_hint": (
        "Who has this key from you can check every checkpoint.",
        "Quien tenga esta clave por medio de usted puede revisar cada punto de control.",
    ),
    "audit": ("Audit", "Auditoría"),
    "audit_lead": (
        "Derives everything again from the events and compares it with what is stored.",
        "Deriva todo otra vez de los eventos y lo compara con lo guardado.",
    ),
    "run_audit": ("Run the audit", "Ejecutar la auditoría"),
    "audit_runs": ("The audit runs.", "La auditoría está en curso."),
    "clean": ("Nothing differs.", "Nada difiere."),
    "differs": ("Findings: {count}", "Hallazgos: {count}"),
    "expected": ("expected", "se esperaba"),
    "found": ("found", "se encontró"),
}
