"""Every text of the certificate, in English and in Spanish, side by side."""

from __future__ import annotations

from typing import Final

from foja.judge.report import Verdict
from foja.proofs.finding import Status

LANGUAGES: Final = ("en", "es")

TRANSLATIONS: Final = {
    "title": ("Certificate about evidence", "Certificado sobre pruebas"),
    "notice": (
        "This page is an explanation, not evidence. Anyone can check the evidence in the bundle without us.",
        "Esta página explica; no es una prueba. Cualquiera puede comprobar las pruebas del paquete.",
    ),
    "document": ("The document", "El documento"),
    "name": ("Name", "Nombre"),
    "unnamed": ("without a name", "sin nombre"),
    "digest": ("SHA-256", "SHA-256"),
    "digest_meaning": (
        "Any change to the document changes this digest. The QR code contains it too.",
        "Cualquier cambio en el documento cambia esta huella. El código QR también la contiene.",
    ),
    "finding": ("What was found", "Qué se encontró"),
    "proven": (
        "The document with this digest existed no later than {time}, according to {source}.",
        "El documento con esta huella existía a más tardar el {time}, según {source}.",
    ),
    "nothing_proven": (
        "It is not proven when the document existed.",
        "No está probado cuándo existía el documento.",
    ),
    "revoked": (
        "The document was revoked on {time}: {reason}",
        "El documento fue revocado el {time}: {reason}",
    ),
    "judged_at": ("Judged as of {time}.", "Examinado con fecha {time}."),
    "evidence": ("The evidence, one by one", "Las pruebas, una por una"),
    "until": ("no later than {time}, according to {source}", "a más tardar el {time}, según {source}"),
    "about": ("about ", "(aprox.) "),
    "not_checked": ("What was not checked", "Qué no se comprobó"),
    "all_checked": ("Nothing, as far as is known.", "Nada, hasta donde se sabe."),
    "check": ("How to check it yourself", "Cómo comprobarlo usted mismo"),
    "step_digest": (
        "1. Compute the SHA-256 of your copy, for example: sha256sum FILE. It must equal the digest above.",
        "1. Calcule el SHA-256 de su copia, por ejemplo: sha256sum ARCHIVO. Debe ser igual a la huella.",
    ),
    "step_verify": (
        "2. Verify the bundle offline, with roots you obtained yourself: foja verify BUNDLE --trust ROOTS.",
        "2. Verifique el paquete sin red, con raíces que obtuvo usted: foja verify PAQUETE --trust RAÍCES.",
    ),
    "step_other": (
        "3. Or unzip it: openssl ts -verify -digest DIGEST -in evidence/tsa/01.tsr -CAfile ROOTS.",
        "3. O descomprímalo: openssl ts -verify -digest HUELLA -in evidence/tsa/01.tsr -CAfile RAÍCES.",
    ),
    "bundle": ("The bundle", "El paquete"),
    "report": ("The report behind this page", "El informe en que se basa esta página"),
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
    Status.INVALID: ("INVALID", "NO VÁLIDO"),
    Status.ABSENT: ("missing", "falta"),
    Status.UNSUPPORTED: ("not supported", "no admitido"),
}

VERDICTS: Final = {
    Verdict.TOTAL_PASSED: (
        "All required evidence was checked and is valid.",
        "Todas las pruebas exigidas se comprobaron y son válidas.",
    ),
    Verdict.INDETERMINATE: (
        "Not all required evidence could be checked. This does not mean that it is invalid.",
        "No se pudieron comprobar todas las pruebas exigidas. Esto no significa que no sean válidas.",
    ),
    Verdict.TOTAL_FAILED: (
        "Some of the evidence is invalid. Do not rely on it.",
        "Algunas de las pruebas no son válidas. No confíe en ellas.",
    ),
}


def translation(name: str, language: str) -> str:
    """Return a text of the page in this language."""
    return TRANSLATIONS[name][LANGUAGES.index(language)]
