"""What a document waits for, in Spanish: the sentences of `view.explain`, by their patterns."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

_TIME: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ|an unknown time)"
_NAMES: Final = {
    "the timestamp": "el sello de tiempo",
    "the anchor on Polygon": "el anclaje en Polygon",
    "the anchor on Bitcoin": "el anclaje en Bitcoin",
    "the entry in Rekor": "la entrada en Rekor",
    "the artifact": "el artefacto",
}
_NAME: Final = "(" + "|".join(_NAMES) + ")"
_OF: Final = r"((?: of [0-9a-f]{12}…)?)"
_WAITING: Final = f"Waiting for {_NAME}{_OF} since {_TIME}: "
# A later pattern may be a part of an earlier one. What no pattern knows stays in English.
_SENTENCES: Final = (
    (f"It is final since {_TIME}\\.", "Es final desde {0}."),
    (f"It was revoked {_TIME}\\.", "Fue revocado el {0}."),
    (f"It was archived {_TIME}\\.", "Fue archivado el {0}."),
    (r"Nothing more is requested\.", "No se solicita nada más."),
    (r"Nothing more will happen\.", "No ocurrirá nada más."),
    (
        r"Protection was not requested yet\. `(foja protect [^`]+)` requests it\.",
        "Todavía no se solicitó protección. `{0}` la solicita.",
    ),
    (
        f"A witness is required since {_TIME}: nothing goes on until `document.witness.ready` names it\\.",
        "Se requiere un testigo desde {0}: nada continúa hasta que `document.witness.ready` lo nombre.",
    ),
    (
        r"Everything required is confirmed; the next stage comes after (\w+)\.",
        "Todo lo requerido está confirmado; la próxima etapa viene después de {0}.",
    ),
    (
        _WAITING + r"(\w+) is paused, and its deadline waits, too; `([^`]+)` continues it\.",
        "Se espera {0}{1} desde {2}: {3} está en pausa, y su plazo también espera; `{4}` lo continúa.",
    ),
    (
        _WAITING + r"(\w+) is paused; `([^`]+)` continues it\.",
        "Se espera {0}{1} desde {2}: {3} está en pausa; `{4}` lo continúa.",
    ),
    (
        _WAITING
        + r"no batch is sent now \((.+?)\); attempt (\d+) ends by "
        + _TIME
        + r"\. `foja anchors` shows its network\.",
        (
            "Se espera {0}{1} desde {2}: ahora no se envía ningún lote ({3}); el intento {4} termina a más "
            "tardar el {5}. `foja anchors` muestra su red."
        ),
    ),
    (
        _WAITING
        + r"attempt (\d+) cannot go on, because the log is halted \((.+?)\); see `foja log restart --help`\.",
        (
            "Se espera {0}{1} desde {2}: el intento {3} no puede continuar, porque el registro está detenido "
            "({4}); véase `foja log restart --help`."
        ),
    ),
    (
        _WAITING
        + rf"attempt (\d+) waits for a checkpoint \(the newest: not published yet\) and ends by {_TIME}\.",
        (
            "Se espera {0}{1} desde {2}: el intento {3} espera el primer punto de control y termina a más "
            "tardar el {4}."
        ),
    ),
    (
        _WAITING + rf"attempt (\d+) waits for a checkpoint \(the newest: {_TIME}\) and ends by {_TIME}\.",
        (
            "Se espera {0}{1} desde {2}: el intento {3} espera un punto de control (el más nuevo: {4}) y "
            "termina a más tardar el {5}."
        ),
    ),
    (
        _WAITING + rf"attempt (\d+) runs at {_TIME}, until {_TIME}\.",
        "Se espera {0}{1} desde {2}: el intento {3} comienza el {4}, hasta el {5}.",
    ),
    (
        _WAITING + rf"attempt (\d+) is under way and ends by {_TIME}\.",
        "Se espera {0}{1} desde {2}: el intento {3} está en curso y termina a más tardar el {4}.",
    ),
    (
        _WAITING + r"a token is recorded, and the executor checks it next\.",
        "Se espera {0}{1} desde {2}: un sello está registrado, y se comprueba a continuación.",
    ),
    (
        _WAITING + r"the executor requests it next\.",
        "Se espera {0}{1} desde {2}: se solicita a continuación.",
    ),
    (f"But {_NAME}{_OF} was taken back at {_TIME}", "Pero se retiró {0}{1} el {2}"),
    (f"But {_NAME}{_OF} was not confirmed before that\\.", "Pero antes no se confirmó {0}{1}."),
    (
        f"Gave up on {_NAME}{_OF} {_TIME}, after attempt (\\d+)\\.",
        "Se abandonó {0}{1} el {2}, después del intento {3}.",
    ),
    (r"`(foja retry [^`]+)` grants new ones\.", "`{0}` concede intentos nuevos."),
    (
        f"{_NAME}{_OF} is not installed here: nothing happens until it is\\.",
        "Aquí no está instalado {0}{1}: nada ocurre hasta que lo esté.",
    ),
    (r"The last attempt ended with (\w+)", "El último intento terminó con {0}"),
    (r"After that: ([^.]+)\.", "Después: {0}."),
    (r"Superseded by a later request: ([^.]+)\.", "Reemplazado por una solicitud posterior: {0}."),
    (
        r"No worker is running for (\w+): start `foja worker`, or call `app\.work\(\)`\.",
        "Ningún proceso de trabajo hace {0}: inicie `foja worker`, o llame a `app.work()`.",
    ),
    (r"Its batch waits: ", "Su lote espera: "),
    (r"The last error of its job: ", "El último error de su tarea: "),
)
_SPANISH: Final = tuple((re.compile(pattern, re.IGNORECASE), text) for pattern, text in _SENTENCES)


def translate(text: str, language: str) -> str:
    """Return an explanation in a language; reasons that others wrote stay as they are."""
    if language == "en":
        return text
    for pattern, sentence in _SPANISH:
        text = pattern.sub(partial(_say, sentence), text)
    return text


def _say(sentence: str, found: re.Match[str]) -> str:
    return sentence.format(*map(_part, found.groups()))


def _part(text: str | None) -> str:
    """Return a part of a sentence: a name, the witness that it is of, a time, or what stays as it is."""
    words = text or ""
    if words.startswith(" of "):
        return f" de {words[4:]}"
    if words == "an unknown time":
        return "un momento desconocido"
    for name, spanish in _NAMES.items():
        words = re.sub(name, spanish, words, flags=re.IGNORECASE)
    return words.replace(", then ", ", luego ")
