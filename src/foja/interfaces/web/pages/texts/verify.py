"""Texts of the page that verifies."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "verify": ("Verify", "Verificar"),
    "verify_lead": (
        "See what a bundle or a proof really shows, and on whose word. Nothing you give is stored.",
        "Vea qué demuestra de verdad un paquete o una prueba, y según quién. Nada de eso se guarda.",
    ),
    "file": ("Bundle or file", "Paquete o archivo"),
    "file_drop": (
        "Drop a bundle or a file here, or choose it",
        "Suelte aquí un paquete o archivo, o elíjalo",
    ),
    "file_hint": (
        "A file with separate proofs does not leave your browser: only its digest is sent.",
        "Un archivo con pruebas separadas no sale de su navegador: solo se envía su huella.",
    ),
    "no_script": (
        "Without JavaScript the file itself is sent, judged and not stored.",
        "Sin JavaScript se envía el archivo mismo, se evalúa y no se guarda.",
    ),
    "proofs": ("Separate proofs", "Pruebas separadas"),
    "proofs_hint": (
        "Timestamp tokens, .ots files, bundles without the document.",
        "Sellos de tiempo, archivos .ots, paquetes sin el documento.",
    ),
    "send_file": (
        "Send the file itself: some proofs need more than its digest",
        "Enviar el archivo mismo: algunas pruebas necesitan más que su huella",
    ),
    "digest": ("Digest (SHA-256), if you have no file", "Huella (SHA-256), si no tiene el archivo"),
    "trust": ("Whom you trust", "En quién confía"),
    "own_trust": (
        "This installation: its log and its timestamp authority",
        "Esta instalación: su registro y su autoridad de sellado",
    ),
    "trust_files": ("Your own roots, as files", "Sus propias raíces, como archivos"),
    "trust_lines": ("Or as lines", "O como líneas"),
    "trust_hint": (
        "Certificates (PEM), keys of logs, blocks. They must not come with what you verify.",
        "Certificados (PEM), claves de registros, bloques. No deben venir con lo que verifica.",
    ),
    "verify_now": ("Verify", "Verificar"),
    "hashing": ("Computing the digest", "Calculando la huella"),
    "judging": ("Judging", "Evaluando"),
    "no_answer": ("The server did not answer. Try again.", "El servidor no respondió. Inténtelo otra vez."),
    "result": ("Result", "Resultado"),
    "facts": ("What was judged", "Qué se evaluó"),
    "rests_on": ("On whose word this rests", "En la palabra de quién se apoya"),
    "rests_on_nothing": (
        "On nothing that you trust: choose whom you trust above.",
        "En nada en que usted confíe: elija arriba en quién confía.",
    ),
    "missing": ("What was missing", "Qué faltó"),
    "evidence": ("Evidence", "Evidencia"),
    "remark": ("Note", "Nota"),
    "not_checked": ("Not checked", "No se revisó"),
    "technical": ("Technical detail", "Detalle técnico"),
    "timeline": ("Timeline", "Línea de tiempo"),
    "by": ("no later than {time}, according to {source}", "a más tardar el {time}, según {source}"),
    "whole": ("The whole report, for programs", "El informe completo, para programas"),
}
