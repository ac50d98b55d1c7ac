"""Every word of the certificate, in English and in Spanish; the same sentences, side by side."""

from __future__ import annotations

from typing import Final

from foja.judge.report import Verdict
from foja.proofs.finding import Status

LANGUAGES: Final = ("en", "es")

TRANSLATIONS: Final = {
    "title": ("Certificate about evidence", "Certificado sobre evidencia"),
    "notice": (
        "This page explains. It is not evidence: that is in the bundle, and anyone can check it without us.",
        "Esta página explica. No es evidencia: esta se halla en el paquete, y cualquiera puede comprobarla.",
    ),
    "document": ("The document", "El documento"),
    "name": ("Name", "Nombre"),
    "unnamed": ("without a name", "sin nombre"),
    "digest": ("SHA-256", "SHA-256"),
    "digest_meaning": (
        "It comes from every byte of the document: change one, and it is another. The square holds it too.",
        "Sale de cada byte del documento: si cambia uno, es otro. El cuadrado también lo contiene.",
    ),
    "finding": ("What was found", "Qué se encontró"),
    "proven": (
        "The document with this number existed no later than {time}, according to {source}.",
        "El documento con este número existía a más tardar el {time}, según {source}.",
    ),
    "nothing_proven": (
        "Nothing is proven about when the document existed.",
        "No está probado nada sobre cuándo existía el documento.",
    ),
    "revoked": (
        "The document was revoked on {time}: {reason}",
        "El documento fue revocado el {time}: {reason}",
    ),
    "judged_at": ("Judged as of {time}.", "Examinado con fecha {time}."),
    "evidence": ("The evidence, one by one", "La evidencia, una por una"),
    "until": ("no later than {time}, according to {source}", "a más tardar el {time}, según {source}"),
    "about": ("about ", "(aprox.) "),
    "missed": ("What was not checked", "Qué no se comprobó"),
    "nothing_missed": ("Nothing that is known to us.", "Nada que conozcamos."),
    "check": ("How to check it without us", "Cómo comprobarlo sin nosotros"),
    "step_digest": (
        "1. Compute the SHA-256 of your copy, for example: sha256sum FILE. It must be the number above.",
        "1. Calcule el SHA-256 de su copia, por ejemplo: sha256sum ARCHIVO. Debe ser el número de arriba.",
    ),
    "step_verify": (
        "2. Judge the bundle, offline, by roots you got yourself: foja verify BUNDLE --trust ROOTS.",
        "2. Examine el paquete, sin red, con raíces que obtuvo usted: foja verify PAQUETE --trust RAÍCES.",
    ),
    "step_other": (
        "3. Or unzip it: openssl ts -verify -digest NUMBER -in evidence/tsa/01.tsr -CAfile ROOTS.",
        "3. O descomprímalo: openssl ts -verify -digest NÚMERO -in evidence/tsa/01.tsr -CAfile RAÍCES.",
    ),
    "bundle": ("The bundle", "El paquete"),
    "report": ("The report this page was made from", "El informe del que salió esta página"),
}

KINDS: Final = {
    "container": ("Container", "Contenedor"),
    "ledger": ("Ledger", "Libro de eventos"),
    "seal": ("Timestamp over the whole bundle", "Sello de tiempo de todo el paquete"),
    "tsa": ("Timestamp of an authority", "Sello de tiempo de una autoridad"),
    "bitcoin": ("Bitcoin", "Bitcoin"),
    "polygon": ("Polygon", "Polygon"),
    "evm": ("Blockchain (EVM)", "Cadena de bloques (EVM)"),
    "bundle": ("Proof over the bundle file", "Prueba sobre el archivo del paquete"),
    "rekor": ("Transparency log (Rekor)", "Registro de transparencia (Rekor)"),
}

STATUSES: Final = {
    Status.VERIFIED: ("verified", "comprobado"),
    Status.PENDING: ("not complete yet", "todavía incompleto"),
    Status.INDETERMINATE: (
        "undecided with the roots given",
        "sin decidir con las raíces dadas",
    ),
    Status.INVALID: ("WRONG", "INCORRECTO"),
    Status.ABSENT: ("missing", "falta"),
    Status.UNSUPPORTED: ("not understood", "no se entiende"),
}

VERDICTS: Final = {
    Verdict.TOTAL_PASSED: (
        "All required evidence was checked and holds.",
        "Toda la evidencia exigida se comprobó y es correcta.",
    ),
    Verdict.INDETERMINATE: (
        "Not all required evidence could be checked. That does not mean that it is wrong.",
        "No se pudo comprobar toda la evidencia exigida. Eso no significa que sea incorrecta.",
    ),
    Verdict.TOTAL_FAILED: (
        "Something in the evidence is wrong. Do not rely on it.",
        "Algo en la evidencia es incorrecto. No se apoye en ella.",
    ),
}


def word(name: str, language: str) -> str:
    """Return a sentence of the page."""
    return TRANSLATIONS[name][LANGUAGES.index(language)]
