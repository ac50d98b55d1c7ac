"""What a report calls verdicts, statuses, kinds of evidence and trust, in English and in Spanish."""

from __future__ import annotations

from typing import Final

from foja.pure.judge.render.translations import Pair
from foja.pure.judge.report import Verdict
from foja.pure.proofs.finding import Status

KINDS: Final[dict[str, Pair]] = {
    "container": ("Container", "Contenedor"),
    "ledger": ("Ledger", "Libro de eventos"),
    "seal": ("Timestamp over the whole bundle", "Sello de tiempo de todo el paquete"),
    "tsa": ("Timestamp of an authority", "Sello de tiempo de una autoridad"),
    "bitcoin": ("Bitcoin", "Bitcoin"),
    "polygon": ("Polygon", "Polygon"),
    "evm": ("Blockchain (EVM)", "Cadena de bloques (EVM)"),
    "bundle": ("Proof over the bundle file", "Prueba sobre el archivo del paquete"),
    "rekor": ("Transparency log (Rekor)", "Registro de transparencia (Rekor)"),
    "signature": ("Signature over the document", "Firma del documento"),
    "monitor": ("Statement of a monitor", "Declaración de un monitor"),
    "document": ("The document's digest", "La huella del documento"),
    "proof": ("Proof", "Prueba"),
}

ITEMS: Final[dict[str, Pair]] = {
    "root": ("root certificate", "certificado raíz"),
    "log": ("key of a log", "clave de un registro"),
    "cosigner": ("key of a cosigner", "clave de un cofirmante"),
    "monitor": ("key of a monitor", "clave de un monitor"),
    "sigstore": ("Sigstore", "Sigstore"),
    "signer": ("public key", "clave pública"),
    "block": ("block hash", "hash del bloque"),
    "header": ("block header", "cabecera del bloque"),
}

STATUSES: Final[dict[Status, Pair]] = {
    Status.VERIFIED: ("verified", "verificado"),
    Status.PENDING: ("not complete yet", "todavía incompleto"),
    Status.INDETERMINATE: ("undecided", "sin decidir"),
    Status.INVALID: ("not valid", "no válido"),
    Status.ABSENT: ("missing", "falta"),
    Status.UNSUPPORTED: ("not supported", "no admitido"),
}

VERDICTS: Final[dict[Verdict, Pair]] = {
    Verdict.TOTAL_PASSED: (
        "all required evidence is verified",
        "todas las pruebas exigidas están verificadas",
    ),
    Verdict.INDETERMINATE: (
        "nothing is invalid, but not all required evidence is verified",
        "nada es inválido, pero no todas las pruebas exigidas están verificadas",
    ),
    Verdict.TOTAL_FAILED: (
        "some evidence is invalid: do not rely on it",
        "hay pruebas no válidas: no confíe en ellas",
    ),
}
