"""Every text of a report and of a certificate, in English and in Spanish, side by side."""

from __future__ import annotations

from typing import Final

from foja.errors import Refused

LANGUAGES: Final = ("en", "es")
Pair = tuple[str, str]

TRANSLATIONS: Final[dict[str, Pair]] = {
    # the first sentence
    "verified": (
        "Verified: {subject} existed by {time}, on the word of {source}",
        "Verificado: {subject} existía a más tardar el {time}, según {source}",
    ),
    "verified_claimed": (
        "Verified: {subject} existed by {time}, on the word of {source}; a revocation is claimed, not proven",
        "Verificado: {subject} existía a más tardar el {time}, según {source}; hay una revocación sin probar",
    ),
    "verified_revoked": (
        "Verified, but revoked: {subject} existed by {time}, on the word of {source}",
        "Verificado, pero revocado: {subject} existía a más tardar el {time}, según {source}",
    ),
    "recorded_events": (
        "Verified: the record of {subject} is as shown, on the word of {log}; no time is proven",
        "Verificado: lo mostrado consta así ({subject}), según {log}; no se prueba ninguna hora",
    ),
    "recorded": (
        "Verified: {subject} is recorded up to event {seq}, on the word of {log}; no time is proven",
        "Verificado: {subject} está registrado hasta el evento {seq}, según {log}; no se prueba ninguna hora",
    ),
    "timeless": (
        "Verified: the evidence about {subject} is valid; no time is proven",
        "Verificado: las pruebas sobre {subject} son válidas; no se prueba ninguna hora",
    ),
    "undecided_time": (
        "Not decided: {subject} existed by {time}, on the word of {source}, but {why}",
        "Sin decidir: {subject} existía a más tardar el {time}, según {source}, pero {why}",
    ),
    "undecided": (
        "Not decided: it is not proven when {subject} existed, because {why}",
        "Sin decidir: no está probado cuándo existía {subject}, porque {why}",
    ),
    "undecided_recorded": (
        "Not decided: it is not proven that the record of {subject} is as shown, because {why}",
        "Sin decidir: no está probado que lo mostrado conste así ({subject}), porque {why}",
    ),
    "failed": (
        "Not valid: do not rely on the evidence about {subject}. What is wrong: {wrong}",
        "No válido: no confíe en las pruebas sobre {subject}. Qué está mal: {wrong}",
    ),
    "local": (
        ", a local authority: it proves the order to its owner, not the time to others",
        ", una autoridad local: prueba el orden a su dueño, no la hora a otros",
    ),
    "local_short": (", a local authority", ", una autoridad local"),
    "test": (
        ", a block of a test network: it takes no work and proves no time to others",
        ", un bloque de una red de pruebas: no cuesta trabajo y no prueba la hora a otros",
    ),
    "test_short": (", a test network", ", una red de pruebas"),
    "chain_short": (
        ", a chain that is not known as a public main network",
        ", una cadena que no se conoce como red pública principal",
    ),
    "named_document": ("the document named below", "el documento que se nombra abajo"),
    "events": ("events {first} to {last} of {stream}", "los eventos {first} a {last} de {stream}"),
    "event_one": ("event {first} of {stream}", "el evento {first} de {stream}"),
    "transcript": ("the transcript of {stream}", "la transcripción de {stream}"),
    "named": ("Name, as given: {given}", "Nombre, tal como se aportó: {given}"),
    "this_document": ("the document with the digest below", "el documento con la huella de abajo"),
    "unknown_document": ("the document", "el documento"),
    "no_evidence": ("no evidence was given", "no se aportó ninguna prueba"),
    "not_trusted": (
        "you did not give every root or key that the evidence needs: {titles}",
        "no se aportaron todas las raíces o claves que las pruebas necesitan: {titles}",
    ),
    "not_there": (
        "required evidence is not there, or not complete yet: {titles}",
        "faltan pruebas exigidas, o todavía están incompletas: {titles}",
    ),
    "not_verified": (
        "not all evidence could be verified: {titles}",
        "no se pudieron verificar todas las pruebas: {titles}",
    ),
    # the other sentences of the headline
    "revoked": (
        "Revoked: {subject} was revoked on {time} (event {seq}), on the word of {log}",
        "Revocado: {subject} fue revocado el {time} (evento {seq}), según {log}",
    ),
    "claimed": (
        "Revocation claimed, not proven: {subject} was revoked on {time} (event {seq}), on the word of {log}",
        "Revocación sin probar: {subject} habría sido revocado el {time} (evento {seq}), según {log}",
    ),
    "reason": ("Reason given: {reason}", "Motivo indicado: {reason}"),
    "no_reason": ("none is recorded", "no consta ninguno"),
    "as_of": (
        (
            "As of event {seq} ({kind}): it is the last event shown, recorded on {time}, on the word of"
            " {log}. What was recorded after it is not known."
        ),
        (
            "Hasta el evento {seq} ({kind}): es el último evento mostrado, registrado el {time}, según {log}."
            " No se sabe qué se registró después."
        ),
    ),
    "early_clock": (
        (
            "Times do not fit: the ledger's clock says {time} for its last event, {days} days before the "
            "proof that an earlier event recorded ({titles}). At least one of the two clocks is wrong."
        ),
        (
            "Horas que no encajan: el reloj del libro dice {time} en su último evento, {days} días antes que "
            "la prueba que registró un evento anterior ({titles}). Al menos uno de los dos relojes va mal."
        ),
    ),
    "late_clock": (
        "Mind the time: by the ledger's clock the last event is of {time}, after the time judged at.",
        "Atención a la hora: el último evento es del {time}, según el libro, tras la fecha del examen.",
    ),
    "late_ledger": (
        "Mind the order: by the ledger's clock its first event is of {time}, {days} days after: {titles}.",
        "Atención al orden: el libro dice {time} en su primer evento, {days} días después de: {titles}.",
    ),
    "as_of_nothing": (
        "As of: no valid history was given. Whether the document was revoked is not known.",
        "Hasta cuándo: no se aportó un historial válido. No se sabe si el documento fue revocado.",
    ),
    "local_note": (
        "Local authority: it proves the order to its owner only, and attests the following: {titles}.",
        "Autoridad local: solo prueba el orden a su dueño, y es la que da fe de lo siguiente: {titles}.",
    ),
    "test_note": (
        "Test network: its blocks prove no time to others, and the following rests on one: {titles}.",
        "Red de pruebas: sus bloques no prueban la hora a otros, y en uno se basa lo siguiente: {titles}.",
    ),
    "outlived_note": (
        (
            "Old certificate: it ended or was revoked after the time that the evidence states, without a "
            "renewal before. What rests on it: {titles}."
        ),
        (
            "Certificado antiguo: caducó o fue revocado después de la hora que la prueba declara, sin "
            "renovación antes. Lo que se basa en él: {titles}."
        ),
    ),
    "renewed_note": (
        "Renewed: by {time}, on the word of {source}; older certificates were judged as of then or earlier.",
        (
            "Renovado: a más tardar el {time}, según {source}; los certificados anteriores se examinaron con "
            "esa fecha o una anterior."
        ),
    ),
    "lacks": ("Why: {fault}.", "Por qué: {fault}."),
    "the_log": ("the log {log}", "el registro {log}"),
    "unproven_log": (
        "this file only: no log that you trust has signed it",
        "este archivo y nada más: ningún registro en que usted confíe lo ha firmado",
    ),
    "unlogged": (
        "this file only: nothing in it shows that a log has it",
        "este archivo y nada más: nada en él muestra que un registro lo tenga",
    ),
    "log_of_unknown_domain": (
        "this file only: it could not be compared with a log",
        "este archivo y nada más: no se pudo comparar con un registro",
    ),
    "trusted_log": ("a log that you trust", "un registro en que usted confía"),
    "log_without_body": (
        "a log that you trust, though the content of an event is erased or withheld",
        "un registro en que usted confía, aunque el contenido de un evento está borrado o retenido",
    ),
    "log_without_cosigners": (
        "a log that you trust, for which fewer cosigners vouch than your policy requires",
        "un registro en que usted confía, avalado por menos cofirmantes de los que exige su política",
    ),
    "missing": ("Missing: {item}. {ask}", "Falta: {item}. {ask}"),
    "change": ("What would change it: {what}.", "Qué lo cambiaría: {what}."),
    "change_or": ("{others}; or {last}", "{others}; o {last}"),
    "change_event": ("a later event, such as a revocation", "un evento posterior, como una revocación"),
    "change_events": ("a later event", "un evento posterior"),
    "change_trust": ("the loss of trust in a root or key", "no confiar más en una raíz o clave"),
    "change_certificate": (
        "the end or the compromise of a certificate before a renewal",
        "que un certificado caduque o se vea comprometido antes de una renovación",
    ),
    "change_missing": (
        "What would change it: what is missing. Give roots and keys with --trust, not from this file.",
        "Qué lo cambiaría: lo que falta. Aporte raíces y claves con --trust, no las de este archivo.",
    ),
    "change_evidence": (
        "What would change it: evidence that can be verified. Each proof below says what it lacks.",
        "Qué lo cambiaría: pruebas que se puedan verificar. Cada prueba de abajo dice qué le falta.",
    ),
    "change_nothing": (
        "What would change it: no further root or key. Ask the sender for an unchanged copy.",
        "Qué lo cambiaría: ninguna otra raíz o clave. Pida al remitente una copia sin cambios.",
    ),
    "unproven": (
        "No proof: none was given with the document. Ask its sender for its bundle, or for a proof of it.",
        "Sin prueba: no se aportó ninguna con el documento. Pida a quien lo envía su paquete, o una prueba.",
    ),
    "unprotected": (
        (
            "No proof: the file has none of the document itself, and the history shown requests none. Its "
            "sender must protect it first (`foja protect`, or “Protect” on its page), and then send the "
            "bundle."
        ),
        (
            "Sin prueba: el archivo no tiene ninguna del propio documento, ni la solicita el historial "
            "mostrado. Quien lo envía debe protegerlo primero (`foja protect`, o “Proteger” en su página) y "
            "después enviar el paquete."
        ),
    ),
    "unworked": (
        (
            "No proof: the history shown requests one on {time}, and the file has none of the document "
            "itself. Its sender must look why (`foja explain`), start `foja worker` if none runs, and send "
            "the bundle again."
        ),
        (
            "Sin prueba: el historial mostrado solicita una el {time}, y el archivo no tiene ninguna del "
            "propio documento. Quien lo envía debe ver por qué (`foja explain`), arrancar `foja worker` si "
            "no hay ninguno y enviar el paquete otra vez."
        ),
    ),
    # what events say
    "said_title": ("What was recorded", "Qué se registró"),
    "said_proven": (
        "Words in “quotation marks” are those of the events, not ours. Times are of the ledger's clock.",
        "Las palabras entre “comillas” son de los eventos, no nuestras. Las horas son del reloj del libro.",
    ),
    "said_unproven": (
        "The file says this; no log that you trust has signed it. Words in “quotation marks” are its own.",
        "Lo dice el archivo, y ningún registro en que usted confíe lo firmó. Sus palabras: entre “comillas”.",
    ),
    "said_left_out": (
        "{count} more events are not shown here.",
        "Hay {count} eventos más que no se muestran aquí.",
    ),
    "said_nobody": ("An actor that is not named", "Un actor sin nombre"),
    "said_named": (
        "{known} (so named in the trust given; recorded as {actor})",
        "{known} (así en la lista de confianza; registrado como {actor})",
    ),
    "said_something": ("something without a name", "algo sin nombre"),
    "said_approved": (
        "{actor} approved {what}{content}{digest} on {time}{reason}.",
        "{actor} aprobó {what}{content}{digest} el {time}{reason}.",
    ),
    "said_denied": (
        "{actor} denied {what}{content}{digest} on {time}{reason}.",
        "{actor} denegó {what}{content}{digest} el {time}{reason}.",
    ),
    "said_expired": (
        "The approval of {what}{content}{digest} expired without a decision, as recorded on {time}{reason}.",
        "La aprobación de {what}{content}{digest} caducó sin decisión; se registró el {time}{reason}.",
    ),
    "said_asked": (
        "{actor} asked for approval of {what}{content} on {time}.",
        "{actor} pidió aprobar {what}{content} el {time}.",
    ),
    "said_requested": (
        "{actor} requested the tool {what}{content} on {time}.",
        "{actor} solicitó la herramienta {what}{content} el {time}.",
    ),
    "said_answered": (
        "{actor} recorded the result of the tool {what}{content} on {time}{reason}.",
        "{actor} registró el resultado de la herramienta {what}{content} el {time}{reason}.",
    ),
    "said_said": (
        "{actor} recorded {kind}{content} on {time}.",
        "{actor} registró {kind}{content} el {time}.",
    ),
    "said_recorded": (
        "{actor} recorded {kind}{content} on {time}.",
        "{actor} registró {kind}{content} el {time}.",
    ),
    "said_voided": (
        "Number {seq} was given and not used; this was recorded on {time}{reason}.",
        "El número {seq} se asignó y no se usó; se registró el {time}{reason}.",
    ),
    "said_erased": (
        "{actor} erased the content of event {about} on {time}{reason}.",
        "{actor} borró el contenido del evento {about} el {time}{reason}.",
    ),
    "said_hidden": (
        "The content of event {seq} ({kind}, {time}) is erased or withheld: its actor is not known.",
        "El contenido del evento {seq} ({kind}, {time}) se borró o se retiene: no se sabe de quién es.",
    ),
    "said_content": (" with {words}", " con {words}"),
    "said_content_below": ("With:", "Con:"),
    "said_digest": (
        " with arguments whose SHA-256 is {digest}",
        " con argumentos cuyo SHA-256 es {digest}",
    ),
    "said_reason": (", for the reason {words}", ", por el motivo {words}"),
    "said_reason_below": ("Reason:", "Motivo:"),
    "said_place": ("this is event {seq} of {stream}", "es el evento {seq} de {stream}"),
    "stream": ("stream", "la secuencia"),
    "stream_conversation": ("conversation", "la conversación"),
    "event_alone": (
        "Verified: {said}, on the word of {log}; its time is that of the ledger's clock, not proven",
        "Verificado: {said}, según {log}; su hora es la del reloj del libro, y no está probada",
    ),
    "as_of_alone": (
        "This event alone: what was recorded before and after event {seq} is not shown.",
        "Solo este evento: no se muestra lo registrado antes y después del evento {seq}.",
    ),
    # what a whole history leaves open
    "complete_title": ("What is complete, and what is not", "Qué está completo y qué no"),
    "whole_proven": (
        (
            "Numbers 0 to {last} of {stream}: none is missing, as of the checkpoint of {log} at {size}"
            " entries; whether there is a number {next} is not shown."
        ),
        (
            "Números 0 a {last} de {stream}: no falta ninguno, según el punto de control de {log} con {size}"
            " entradas; no se muestra si hay un número {next}."
        ),
    ),
    "whole_unproven": (
        "Numbers 0 to {last} of {stream}: none is missing in the file; no log that you trust confirms it.",
        "Números 0 a {last} de {stream}: no falta ninguno en el archivo; ningún registro fiable lo confirma.",
    ),
    "whole_tools": (
        "Requests of tools for which no result is shown: {numbers}.",
        "Solicitudes de herramientas de las que no se muestra un resultado: {numbers}.",
    ),
    "whole_no_tools": (
        "No request of a tool is shown without its result.",
        "No se muestra ninguna solicitud de herramienta sin su resultado.",
    ),
    "whole_approvals": (
        "Approvals that are open, since no decision is shown: {numbers}.",
        "Aprobaciones abiertas, porque no se muestra una decisión: {numbers}.",
    ),
    "whole_no_approvals": (
        "No approval is shown without its decision.",
        "No se muestra ninguna aprobación sin su decisión.",
    ),
    "whole_expired": (
        "Approvals that are recorded as expired: {numbers}.",
        "Aprobaciones que constan como caducadas: {numbers}.",
    ),
    "whole_no_expired": (
        "No approval is recorded as expired.",
        "No consta ninguna aprobación caducada.",
    ),
    "whole_voided": (
        "Numbers that were given and not used: {numbers}.",
        "Números que se asignaron y no se usaron: {numbers}.",
    ),
    "whole_no_voided": (
        "Each of these numbers was used.",
        "Se usaron todos estos números.",
    ),
    "whole_reason": (
        "Number {seq} was not used, for the reason {reason}.",
        "El número {seq} no se usó, por el motivo {reason}.",
    ),
    "whole_hidden": (
        "Events whose content was erased or is withheld: {numbers}. What they opened or closed is not known.",
        "Eventos cuyo contenido fue borrado o se retiene: {numbers}. No se sabe qué abrieron o cerraron.",
    ),
    "whole_never": (
        "What the recorder was never told cannot be shown.",
        "Lo que nunca se comunicó a quien registra no se puede mostrar.",
    ),
    "change_other": (
        "What would change it: other evidence. No further root or key, and no other copy, makes this valid.",
        "Qué lo cambiaría: otras pruebas. Ni más raíces o claves ni otra copia hacen válida esta.",
    ),
    # whom to ask
    "ask_root": (
        "Ask the authority for its root; a local authority's operator prints it with `foja tsa root`.",
        "Pida su raíz a la autoridad; la de una autoridad local se obtiene con `foja tsa root`.",
    ),
    "ask_log": (
        "Ask the operator of the log for its key, which `foja log key` prints.",
        "Pida su clave a quien opera el registro; se obtiene con `foja log key`.",
    ),
    "ask_monitor": (
        "Ask the operator of the monitor for its key, which `foja monitor key` prints.",
        "Pida su clave a quien opera el monitor; se obtiene con `foja monitor key`.",
    ),
    "ask_sigstore": (
        "Ask the operator of the Sigstore instance for its trusted_root.json.",
        "Pida su trusted_root.json a quien opera la instancia de Sigstore.",
    ),
    "ask_signer": ("Ask the signer for this key.", "Pida esta clave al firmante."),
    "ask_block": (
        "Ask a node of this chain that you trust, or use --online.",
        "Pregunte a un nodo de esta cadena en que confíe, o use --online.",
    ),
    "ask_header": (
        "Ask a Bitcoin node that you trust for this header, or use --online.",
        "Pida esta cabecera a un nodo de Bitcoin en que confíe, o use --online.",
    ),
    # sections and labels
    "page_title": ("Verification report", "Informe de verificación"),
    "document": ("The document", "El documento"),
    "name": ("Name", "Nombre"),
    "unnamed": ("without a name", "sin nombre"),
    "digest": ("SHA-256 digest", "Huella SHA-256"),
    "verdict": ("Verdict", "Resultado"),
    "judged_at": ("Judged as of", "Examinado con fecha"),
    "required": ("Required", "Exigido"),
    "nothing_required": ("nothing by name", "nada por su nombre"),
    "rests_on": ("Rests on what you trust", "Se basa en aquello en que usted confía"),
    "rests_on_nothing": ("Nothing is verified.", "Nada está verificado."),
    "timeline": ("Timeline", "Cronología"),
    "evidence": ("The evidence, one by one", "Las pruebas, una por una"),
    "remark": ("Note", "Nota"),
    "not_checked": ("Not checked", "No comprobado"),
    "by": ("existed by {time}, on the word of {source}", "existía a más tardar el {time}, según {source}"),
    "about": ("about {time}", "{time} (aprox.)"),
    "technical": ("Detail", "Detalle (en inglés)"),
    "whole_report": ("The whole report, for programs", "El informe completo, para programas"),
    # the timeline
    "event": ("event {seq}", "evento {seq}"),
    "event_first": ("First event: {kind}", "Primer evento: {kind}"),
    "event_added": ("Added to the ledger", "Añadido al libro de eventos"),
    "event_requested": ("Protection requested", "Protección solicitada"),
    "event_revoked": ("Revoked", "Revocado"),
    "event_last": ("Last event shown: {kind}", "Último evento mostrado: {kind}"),
    "event_source": ("event {seq}, by the ledger's clock", "evento {seq}, según el reloj del libro"),
    "event_unproven": ("not verified", "sin verificar"),
    "existed": ("existed by then, on the word of {source}", "existía a más tardar entonces, según {source}"),
    "judged": ("Judged as of this time", "Examinado con esta fecha"),
    # the certificate
    "title": ("Certificate about evidence", "Certificado sobre pruebas"),
    "notice": (
        "This page is an explanation, not evidence. Anyone can check the evidence in the bundle without us.",
        "Esta página explica; no es una prueba. Cualquiera puede comprobar las pruebas del paquete.",
    ),
    "digest_meaning": (
        "Any change to the document changes this digest. The QR code contains it too.",
        "Cualquier cambio en el documento cambia esta huella. El código QR también la contiene.",
    ),
    "all_checked": ("nothing, as far as is known", "nada, hasta donde se sabe"),
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
    "step_other_batch": (
        "3. Or unzip it: META-INF/evidencerecord01.ers (RFC 4998) leads from the digest to a batch's token.",
        "3. O descomprímalo: META-INF/evidencerecord01.ers (RFC 4998) va de la huella al sello de un lote.",
    ),
    "bundle": ("SHA-256 of the bundle ({size} bytes)", "SHA-256 del paquete ({size} bytes)"),
    "report": ("The report behind this page", "El informe en que se basa esta página"),
}


def index_of(language: str) -> int:
    """Return the place of a language in every pair, or raise `Refused`."""
    if language not in LANGUAGES:
        raise Refused(f"reports are available in {' or '.join(LANGUAGES)}, not in {language!r}")
    return LANGUAGES.index(language)


def text(name: str, language: str, **values: object) -> str:
    """Return one text in this language, with these values."""
    return TRANSLATIONS[name][index_of(language)].format(**values)
