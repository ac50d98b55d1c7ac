"""The Spanish translation of the judge's notices: what was not checked, and the sources of times.

Some notices contain a name or a number, so each has a pattern here. A test judges every kind of evidence to
show that no pattern is missing.
"""

from __future__ import annotations

import re
from typing import Final

from foja.proofs.tsa.oids import LOCAL_NOTICE

_PATTERNS: Final = {
    re.escape(LOCAL_NOTICE): "autoridad local: prueba el orden ante usted, no la hora ante otros",
    "nonce: which one was sent is not known": "nonce: no se sabe cuál se envió",
    "accuracy: the authority does not state it": "precisión: la autoridad no la declara",
    "revocation of (.+)": "revocación de {0}",
    "the block's own time, which may be wrong by about two hours": (
        "la hora del propio bloque, que puede errar en unas dos horas"
    ),
    "how many blocks came after it": "cuántos bloques le siguieron",
    "whether RIPEMD-160, which the proof uses, is still strong enough": (
        "si RIPEMD-160, que la prueba utiliza, todavía es bastante seguro"
    ),
    "an attestation of (.+)": "una atestación de {0}",
    "whose account (0x[0-9a-f]+) is": "de quién es la cuenta {0}",
    "whether the log (.+) shows others the same checkpoint": (
        "si el registro {0} muestra a otros el mismo punto de control"
    ),
    "whether (.+) is the expected signer": "si {0} es el firmante esperado",
    "when it was recorded: a log proves order, not time": (
        "cuándo se registró: un registro prueba el orden, no la hora"
    ),
    "whether others see the same log": "si otros ven el mismo registro",
    "ledger: what was recorded after the last event in this bundle": (
        "libro de eventos: lo registrado después del último evento de este paquete"
    ),
    "what was recorded after the last event of this export": (
        "lo registrado después del último evento de esta exportación"
    ),
    "([0-9]+) bodies: erased or withheld, only their hashes are present": (
        "{0} contenidos: borrados o retenidos, solo están sus huellas"
    ),
    "document: it is not in the bundle; give the file, or its digest": (
        "documento: no está en el paquete; aporte el archivo o su huella"
    ),
    "document: its name in the bundle, because the history has none": (
        "documento: su nombre en el paquete, porque el historial no tiene ninguno"
    ),
    "Bitcoin block ([0-9]+)": "el bloque {0} de Bitcoin",
    "block ([0-9]+) of chain ([0-9]+)": "el bloque {0} de la cadena {1}",
    "the log (.+)": "el registro {0}",
}
_SPANISH: Final = tuple((re.compile(pattern), spanish) for pattern, spanish in _PATTERNS.items())


def translate(text: str, language: str) -> str:
    """Return a notice of the judge in this language; names of authorities are not translated."""
    if language != "es":
        return text
    for pattern, spanish in _SPANISH:
        if found := pattern.fullmatch(text):
            return spanish.format(*found.groups())
    return text
