"""What the judge says in English, said in Spanish: what was not checked, and who says when.

The judge writes sentences, some with a name or a number in them; each has its form here, and a test judges
every kind of evidence to see that none is missing.
"""

from __future__ import annotations

import re
from typing import Final

from foja.proofs.tsa.oids import LOCAL_NOTICE

_FORMS: Final = {
    re.escape(LOCAL_NOTICE): "autoridad local: prueba el orden ante usted, no la hora ante otros",
    "nonce: which one was sent is not known": "nonce: no se sabe cuál se envió",
    "accuracy: the authority does not state it": "precisión: la autoridad no la declara",
    "revocation of (.+)": "revocación de {0}",
    "the block's own time, which may be wrong by about two hours": (
        "la hora del propio bloque, que puede errar en unas dos horas"
    ),
    "how many blocks came after it": "cuántos bloques le siguieron",
    "whether RIPEMD-160, which the proof passes through, is still wide enough": (
        "si RIPEMD-160, por donde pasa la prueba, aún es bastante ancho"
    ),
    "an attestation of (.+)": "una atestación de {0}",
    "whose account (0x[0-9a-f]+) is": "de quién es la cuenta {0}",
    "whether the log (.+) shows others the same checkpoint": (
        "si el registro {0} muestra a otros el mismo punto de control"
    ),
    "whether (.+) is who should have signed": "si {0} es quien debía firmar",
    "when that was: a log orders, it does not date": "cuándo fue: un registro ordena, no fecha",
    "whether others were shown the same log": "si a otros se les mostró el mismo registro",
    "ledger: what was recorded after the last event in this bundle": (
        "libro de eventos: lo registrado después del último evento de este paquete"
    ),
    "what was recorded after the last event of this export": (
        "lo registrado después del último evento de esta exportación"
    ),
    "([0-9]+) bodies: erased or withheld, only their hashes are there": (
        "{0} contenidos: borrados o retenidos, solo están sus resúmenes"
    ),
    "document: it is not in the bundle; give the file, or its digest": (
        "documento: no está en el paquete; aporte el archivo o su resumen"
    ),
    "document: its name in the bundle, since the history gives it none": (
        "documento: su nombre en el paquete, pues la historia no le da ninguno"
    ),
    "Bitcoin block ([0-9]+)": "el bloque {0} de Bitcoin",
    "block ([0-9]+) of chain ([0-9]+)": "el bloque {0} de la cadena {1}",
    "the log (.+)": "el registro {0}",
}
_SPANISH: Final = tuple((re.compile(form), spanish) for form, spanish in _FORMS.items())


def spoken(text: str, language: str) -> str:
    """Return a sentence of the judge in this language; names of authorities stay as they are."""
    if language != "es":
        return text
    for form, spanish in _SPANISH:
        if found := form.fullmatch(text):
            return spanish.format(*found.groups())
    return text
