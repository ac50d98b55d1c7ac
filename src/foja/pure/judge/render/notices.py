"""The judge's own sentences in Spanish: what a proof shows, why it does not, and what was not checked."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from foja.pure.proofs.finding import Finding, Reason
from foja.pure.proofs.notices import (
    CHAIN_NOTICE,
    GROUP_NOT_GIVEN,
    IN_A_BATCH,
    LOCAL_NOTICE,
    OLD_ALGORITHM,
    OLD_CERTIFICATE,
    SEALED_IN_A_BATCH,
    TEST_NOTICE,
)
from foja.pure.quotation import QUOTATION, visible

# Some contain a name or a number. A test judges every kind of evidence to show that no pattern is missing.
_Q: Final = f"({QUOTATION})"  # what comes from outside; it cannot contain the end of another pattern
_PATTERNS: Final = {
    re.escape(LOCAL_NOTICE): "autoridad local: prueba el orden ante usted, no la hora ante otros",
    re.escape(TEST_NOTICE): "red de pruebas: sus bloques no cuestan trabajo y no prueban la hora ante otros",
    f"judged as of (.+?): the time of event ([0-9]+), on the word of the log {_Q}(?:, {_Q})*": (
        "examinado con fecha {0}: la hora del evento {1}, según el registro {2}"
    ),
    "judged as of (.+?): the time of (.+), which covers it": (
        "examinado con fecha {0}: la hora de {1}, que lo cubre"
    ),
    "judged as of (.+?): no verified time is earlier": (
        "examinado con fecha {0}: ninguna hora verificada es anterior"
    ),
    f"{re.escape(OLD_CERTIFICATE)} {_Q} ended on ([0-9-]+)": ("certificado antiguo: el de {0} caducó el {1}"),
    f"{re.escape(OLD_CERTIFICATE)} {_Q} was revoked on ([0-9-]+)": (
        "certificado antiguo: el de {0} fue revocado el {1}"
    ),
    f"{re.escape(OLD_ALGORITHM)} ([a-z0-9]+) keys of fewer than ([0-9]+) bits since ([0-9-]+)": (
        "algoritmo: ETSI TS 119 312 no recomienda claves {0} de menos de {1} bits desde el {2}"
    ),
    re.escape(CHAIN_NOTICE): (
        "cadena: si es una red pública principal; los bloques de otras pueden no costar trabajo"
    ),
    "nonce: which one was sent is not known": "nonce: no se sabe cuál se envió",
    "accuracy: the authority does not state it": "precisión: la autoridad no la declara",
    f"revocation of {_Q}": "revocación de {0}",
    "the block's own time, which may be wrong by about two hours": (
        "la hora del propio bloque, que puede errar en unas dos horas"
    ),
    "how many blocks came after it": "cuántos bloques le siguieron",
    "whether RIPEMD-160, which the proof uses, is still strong enough": (
        "si RIPEMD-160, que la prueba utiliza, todavía es bastante seguro"
    ),
    f"an attestation of {_Q}": "una atestación de {0}",
    "whose account (0x[0-9a-f]+) is": "de quién es la cuenta {0}",
    f"whether the log {_Q} shows others the same checkpoint": (
        "si el registro {0} muestra a otros el mismo punto de control"
    ),
    f"whether the log {_Q} signed this checkpoint": "si el registro {0} firmó este punto de control",
    f"whether {_Q} is the expected signer": "si {0} es el firmante esperado",
    "whether the signature of event ([0-9]+) is genuine": "si la firma del evento {0} es auténtica",
    "when it was signed: a signature proves no time": "cuándo se firmó: una firma no prueba la hora",
    "when it was recorded: a log proves order, not time": (
        "cuándo se registró: un registro prueba el orden, no la hora"
    ),
    "whether others see the same log": "si otros ven el mismo registro",
    "whether this log, a restart, continues the one before it": (
        "si este registro, que es un reinicio, continúa el anterior"
    ),
    "cosignatures by ML-DSA-44: to check them, cryptography ([0-9]+) or later must be installed": (
        "cofirmas ML-DSA-44: para comprobarlas hay que instalar cryptography {0} o posterior"
    ),
    "what the log recorded after the monitor looked": (
        "lo que el registro anotó después de que el monitor mirara"
    ),
    f"the monitor {_Q} found event ([0-9]+) as the last one of ([0-9a-f-]+), each number once,"
    f" in ([0-9]+) entries of {_Q}, on (.+)": (
        "el monitor {0} encontró el evento {1} como el último de {2}, cada número una vez,"
        " en {3} entradas de {4}, el {5}"
    ),
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
    "Bitcoin ([a-z]+) block ([0-9]+)": "el bloque {1} de Bitcoin {0}",
    "block ([0-9]+) of chain ([0-9]+)": "el bloque {0} de la cadena {1}",
    "the log of the entry": "el registro de la entrada",
    "the public key of the signer": "la clave pública del firmante",
    f"the log {_Q}": "el registro {0}",
    "key id ([0-9a-f]+)": "identificador de clave {0}",
    "log id ([0-9a-f]+)": "identificador {0}",
    "merkle root ([0-9a-f]+)": "raíz de Merkle {0}",
    "([0-9]+) files, all listed with their digests": "{0} archivos, todos en la lista con su huella",
    f"([0-9]+) events without a gap, in the log {_Q}": "{0} eventos sin huecos, en el registro {1}",
    f"([0-9]+) events without a gap, in the log {_Q}; event ([0-9]+) revoked the document": (
        "{0} eventos sin huecos, en el registro {1}; el evento {2} revocó el documento"
    ),
    f"the document inside was changed after it was sealed: {_Q}": (
        "el documento de dentro se cambió después de sellarlo: {0}"
    ),
    f"a file inside was changed after it was sealed: {_Q}": (
        "un archivo de dentro se cambió después de sellarlo: {0}"
    ),
    f"{_Q} was added after the bundle was sealed": "{0} se añadió después de sellar el paquete",
    f"{_Q} was removed after the bundle was sealed": "{0} se quitó después de sellar el paquete",
    f"the list of files is not the one that was sealed, and {_Q} does not fit it": (
        "la lista de archivos no es la que se selló, y {0} no concuerda con ella"
    ),
    f"{_Q} does not match the CRC-32 in its header": (
        "{0} no coincide con la suma de control de su cabecera: está dañado o se cambió"
    ),
    f"{_Q} is not a file of a proof": "{0} no es un archivo de una prueba",
    "the arguments are not those whose digest the event names": (
        "los argumentos no son aquellos cuya huella nombra el evento"
    ),
    "the body of event ([0-9]+) does not match its hash": (
        "el contenido del evento {0} no coincide con su huella"
    ),
    re.escape(GROUP_NOT_GIVEN): (
        "grupo: no se aportaron los demás archivos de su grupo en el registro de evidencias"
    ),
    f"the token is signed by {_Q}, under your root {_Q}, {re.escape(IN_A_BATCH)}": (
        "el sello está firmado por {0}, bajo su raíz {1}, sobre un lote de documentos que incluye este "
        "(RFC 4998)"
    ),
    f"the token is signed by {_Q}, under your root {_Q}, {re.escape(SEALED_IN_A_BATCH)}": (
        "el sello está firmado por {0}, bajo su raíz {1}, sobre un lote de paquetes que incluye este "
        "(RFC 4998)"
    ),
    f"the token is signed by {_Q}, under your root {_Q}": "el sello está firmado por {0}, bajo su raíz {1}",
    "events? ([0-9, -]+) of ([0-9a-f-]+) (?:is|are) missing; another is in place of event ([0-9]+)": (
        "faltan los eventos {0} de {1}; en el lugar del evento {2} hay otro"
    ),
    "events? ([0-9, -]+) and ([0-9,]+) more gaps of ([0-9a-f-]+) are missing; another is in place of event"
    " ([0-9]+)": "faltan los eventos {0} y {1} huecos más de {2}; en el lugar del evento {3} hay otro",
    f"{_Q} was trusted until (.+); it was not renewed before": (
        "{0} fue de confianza hasta el {1}; no se renovó antes"
    ),
    f"the certificate of {_Q} was revoked on (.+), and nothing shows that it was used before": (
        "el certificado de {0} fue revocado el {1}, y nada muestra que se usara antes"
    ),
    f"the certificate of {_Q} was revoked on (.+), before it was made": (
        "el certificado de {0} fue revocado el {1}, antes de que se hiciera la prueba"
    ),
    f"no certificate you trust leads to {_Q}": "ningún certificado en que usted confíe lleva a {0}",
    "its time is (.+), after the time it is judged at, (.+)": (
        "su hora es {0}, posterior a la fecha con que se examina, {1}"
    ),
    "a ZIP, but not a bundle of Foja: containers of other makers are not supported": (
        "un ZIP, pero no un paquete de Foja: no se admiten los contenedores de otros programas"
    ),
    "the body of document.added is erased or withheld: its name and its source are not known": (
        "el contenido de document.added está borrado o retenido: no se conocen su nombre ni su origen"
    ),
    "(.+) signed the digest": "{0} firmó la huella",
    r"Bitcoin block ([0-9]+) \(([0-9a-f]+)\) commits to it": "el bloque {0} de Bitcoin ({1}) la contiene",
    r"Bitcoin ([a-z]+) block ([0-9]+) \(([0-9a-f]+)\) commits to it": (
        "el bloque {1} de Bitcoin {0} ({2}) la contiene"
    ),
    r"block (\d+) of chain (\d+) \((0x\w+)\) holds a transaction of (0x\w+) that anchors it": (
        "el bloque {0} de la cadena {1} ({2}) tiene una transacción de {3} que la ancla"
    ),
    f"signed by a key you trust, recorded in {_Q} under its checkpoint of ([0-9]+) entries.*"
    ", in a batch of ([0-9]+)": (
        "firmado con una clave en que usted confía, registrado en {0} con {1} entradas, en un lote de {2}"
    ),
    f"signed by a key you trust, recorded in {_Q} under its checkpoint of ([0-9]+) entries.*": (
        "firmado con una clave en que usted confía, registrado en {0} con {1} entradas"
    ),
    rf"signed by {_Q} \(issuer {_Q}\), recorded in {_Q} under its checkpoint of ([0-9]+) entries.*": (
        "firmado por {0} (emisor {1}), registrado en {2} con {3} entradas"
    ),
    f"event ([0-9]+) of (.+) matches its hashes and is entry ([0-9]+) of {_Q}, signed at ([0-9]+) entries": (
        "el evento {0} de {1} coincide con sus huellas y es la entrada {2} de {3}, firmado con {4} entradas"
    ),
    f"([0-9]+) entries of {_Q} continue the ([0-9]+) of this checkpoint": (
        "{0} entradas de {1} continúan las {2} de este punto de control"
    ),
    f"([0-9]+) events of (.+) without a gap; the last is entry ([0-9]+) of {_Q}, "
    "signed at ([0-9]+) entries": (
        "{0} eventos de {1} sin huecos; el último es la entrada {2} de {3}, firmado con {4} entradas"
    ),
}

_VOUCHED: Final = re.compile("(.+); ([0-9]+) of ([0-9]+) cosigners vouch for it")

# Why a proof that is valid in itself does not count; it follows the sentence about the proof.
_BUTS: Final = {
    "but your policy needs ([0-9]+) of ([0-9]+)": "pero su política exige {0} de {1}",
    "but a newer token over it is not verified": "pero un sello más reciente sobre él no está verificado",
    "but ([0-9]+) bodies are withheld: no event records that they were erased": (
        "pero {0} contenidos están retenidos: ningún evento registra que se borraran"
    ),
    "but its body is erased or withheld: its author, its source and its content are not known": (
        "pero su contenido está borrado o retenido: no se conocen su autor, su origen ni lo que dice"
    ),
    "but the digest is not that of this bundle: ([0-9a-f]+)": "pero la huella no es la de este paquete: {0}",
    "which is after the validation time": "que es posterior a la fecha con que se examina",
}

# What is wrong, where the sentence of a finding has digests that the first sentence of a report leaves out.
_OTHER_DOCUMENT: Final = (
    "the document is not the one that the evidence is about",
    "el documento no es aquel del que tratan las pruebas",
)
WRONG: Final[dict[Reason, tuple[str, str]]] = {
    Reason.DIGEST_MISMATCH: _OTHER_DOCUMENT,
    Reason.IMPRINT_MISMATCH: _OTHER_DOCUMENT,
}
# A seal is about the list of files, not about the document.
WRONG_SEAL: Final = (
    "the list of files is not the one that was sealed",
    "la lista de archivos no es la que se selló",
)

REASONS: Final[dict[str, str]] = {
    "MALFORMED": "los bytes no están en el formato que dicen tener",
    "NO_TRUST_ANCHOR": "ninguna cadena lleva a algo en que usted confíe",
    "UNKNOWN_PROOF": "este tipo de prueba no se admite",
    "TOO_LARGE": "supera el tamaño que se admite",
    "TOO_COSTLY": "comprobarla costaría demasiado",
    "NOT_JUDGED": "el propio examen falló con esta entrada; comuníquelo, por favor",
    "UNKNOWN_DOMAIN": "el historial no dice su dominio; indíquelo con --domain",
    "DIGEST_MISMATCH": "la prueba trata de otros bytes",
    "AFTER_VALIDATION_TIME": "se hizo después de la fecha con que se examina",
    "WEAK_HASH": "una función de huella de la cadena está rota y no prueba nada",
    "GROUP_MISMATCH": "el grupo del registro de evidencias no es el de los archivos aportados",
    "ZIP_LAYOUT": "el archivo ZIP no tiene la forma exigida",
    "ZIP_BOMB": "un archivo del paquete está comprimido o es demasiado grande",
    "ZIP_CHECKSUM": "un archivo no coincide con su suma de control",
    "DUPLICATE_ENTRY": "dos archivos del paquete tienen el mismo nombre",
    "LOCAL_HEADER_MISMATCH": "el ZIP describe un archivo de dos maneras distintas",
    "PATH_TRAVERSAL": "un archivo se extraería fuera de su carpeta",
    "SYMLINK": "el paquete contiene un enlace",
    "XML_DTD": "la lista contiene una definición de tipo de documento",
    "XML_ENTITY": "la lista contiene una entidad XML",
    "NON_CANONICAL": "no está en su única codificación válida",
    "UNKNOWN_PROFILE": "el perfil del paquete no se conoce",
    "UNKNOWN_FIELD": "hay un campo desconocido",
    "UNREFERENCED_ENTRY": "el paquete contiene un archivo que el formato no nombra",
    "MISSING_ENTRY": "falta un archivo del paquete",
    "MANIFEST_DIGEST": "un archivo no es el de la lista",
    "LEDGER_GAP": "falta un evento",
    "LEDGER_BODY": "el contenido de un evento no coincide con su huella",
    "LEDGER_HEAD": "los eventos llevan a otro final que el declarado",
    "BODY_ERASED": "el contenido de un evento necesario está borrado o retenido",
    "NAME_MISMATCH": "el documento tiene otro nombre que en su historial",
    "NO_CHECKPOINT": "ningún punto de control firmado cubre todavía el historial",
    "CHECKPOINT_MISMATCH": "el manifiesto nombra otro punto de control que la prueba",
    "WITNESS_MISMATCH": "el historial trata de otra huella",
    "REQUIRED_MISMATCH": "la última solicitud exige otras pruebas",
    "EVIDENCE_NOT_RECORDED": "ningún evento registró esta prueba",
    "EVIDENCE_MISMATCH": "no es la prueba que su evento registró",
    "TRANSCRIPT_MISMATCH": "la transcripción no es la de su conversación",
    "REORGED": "su bloque ya no está en la cadena",
    "NOT_INCLUDED": "se exige, pero no está en el paquete",
    "SEAL_ORDER": "un sello es más reciente que el que lo renueva",
    "RENEWAL_NOT_VERIFIED": "el sello más reciente no está verificado",
    "NOT_ATTESTED_YET": "todavía no hay ningún bloque de Bitcoin",
    "UNKNOWN_ATTESTATION": "solo hay atestaciones que no son de Bitcoin",
    "NO_HEADER": "no se aportó la cabecera de ese bloque",
    "HEADER_NOT_TRUSTED": "la cabecera no lleva a una que usted nombró",
    "MERKLE_ROOT_MISMATCH": "el bloque tiene otra raíz de Merkle",
    "POW_INVALID": "la cabecera tiene muy poco trabajo",
    "BLOCK_NOT_TRUSTED": "usted no nombró ese bloque",
    "HEADER_INVALID": "la cabecera del bloque no es válida",
    "TX_PROOF_INVALID": "la prueba de la transacción no es válida",
    "CHAIN_NOT_TRUSTED": "usted no nombró esa cadena",
    "SENDER_NOT_TRUSTED": "usted no nombró esa cuenta",
    "CALLDATA_MISMATCH": "la transacción contiene otros datos",
    "BATCH_ROOT_MISMATCH": "la huella no está bajo la raíz que se ancló o se firmó",
    "SIGNER_NOT_TRUSTED": "lo firmó una clave que usted no nombró",
    "IDENTITY_NOT_TRUSTED": "lo firmó una identidad que usted no nombró",
    "ENTRY_MISMATCH": "el registro anotó otra cosa",
    "CHECKPOINT_UNSIGNED": "el registro no firmó su punto de control",
    "INCLUSION_INVALID": "no está probado que la entrada esté en el registro: la prueba no es válida",
    "COSIGNATURE_INVALID": "una cofirma no corresponde al punto de control",
    "COSIGNERS_MISSING": "lo avalan menos cofirmantes de los que exige su política",
    "MONITOR_INVALID": "no es una declaración del monitor que nombra",
    "MONITOR_CONTRADICTS": "un monitor en que usted confía vio otro historial",
    "NOT_VOUCHED": "la declaración no trata del final de este historial",
    "LOG_INCONSISTENT": "el registro firmó dos árboles que se contradicen",
    "NO_SIGNED_TIME": "no hay ninguna hora firmada",
    "NO_INCLUSION_PROOF": "no hay prueba de que la entrada esté en el registro",
    "CERTIFICATE_NOT_LOGGED": "el certificado no está en un registro en que usted confíe",
    "NOT_CHECKED": "la firma no se comprobó",
    "STATUS_NOT_GRANTED": "la autoridad no concedió el sello tal como se pidió",
    "CONTENT_TYPE": "lo firmado no es del tipo esperado",
    "SIGNER_COUNT": "se espera un solo firmante",
    "IMPRINT_ALGORITHM": "usa otra función de huella",
    "IMPRINT_MISMATCH": "trata de otra huella",
    "NONCE_MISMATCH": "responde a otra solicitud",
    "BACKDATED": "su hora es anterior a la solicitud",
    "SIGNER_CERTIFICATE_MISSING": "falta el certificado del firmante",
    "UNRELATED_CERTIFICATE": "contiene un certificado ajeno a su cadena",
    "ESS_CERT_ID_MISMATCH": "el firmante firmó para otro certificado",
    "EKU_INVALID": "el certificado no se emitió para este uso, o no solo para él",
    "KEY_USAGE_INVALID": "la clave no puede firmar, o sirve para algo más",
    "ALGORITHM_UNSUPPORTED": "un algoritmo no se admite",
    "ALGORITHM_EXPIRED": "un algoritmo ya no valía en la fecha con que se examina",
    "EXTENSION_UNSUPPORTED": "una extensión crítica no se admite",
    "SIGNATURE_INVALID": "la firma no corresponde a la clave",
    "CERT_EXPIRED_AT_GENTIME": "un certificado había caducado en la fecha que cuenta",
    "CERT_NOT_YET_VALID_AT_GENTIME": "un certificado no era válido todavía en la fecha que cuenta",
    "CHAIN_INVALID": "la cadena de certificados no es válida",
    "NAME_CONSTRAINTS": "un emisor solo puede certificar ciertos nombres, y esa restricción no se admite",
    "WEAK_KEY": "una clave es demasiado débil",
    "TSA_NAME_MISMATCH": "el sello nombra a otra autoridad que su certificado",
    "ROOT_NOT_TRUSTED": "su cadena termina en una raíz en que usted no confía",
    "TRUST_ANCHOR_EXPIRED": "su raíz caducó y no se renovó antes",
    "POLICY_NOT_ALLOWED": "su política de sellado no está permitida",
    "ACCURACY_NOT_ALLOWED": "su precisión no está permitida",
    "REVOKED": "un certificado fue revocado, y nada prueba que se usara antes",
    "REVOCATION_UNKNOWN": "no se sabe si un certificado fue revocado",
}


@lru_cache(maxsize=1)
def _spanish() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), spanish) for pattern, spanish in _PATTERNS.items())


def translate(text: str, language: str) -> str:
    """Return a notice of the judge in this language; names of authorities are not translated."""
    if language != "es":
        return text
    if vouched := _VOUCHED.fullmatch(text):
        known, count, of = vouched.groups()
        return f"{translate(known, language)}; lo avalan {count} de {of} cofirmantes"
    for pattern, spanish in _spanish():
        if found := pattern.fullmatch(text):
            return spanish.format(*found.groups())
    return _with_but(text, language)


def _with_but(text: str, language: str) -> str:
    """Return a sentence that ends with why it does not count, if both parts can be translated."""
    for pattern, spanish in _BUTS.items():
        if found := re.fullmatch(f"(.+), {pattern}", text):
            known, *values = found.groups()
            if (translated := translate(known, language)) != known:
                return f"{translated}, {spanish.format(*values)}"
    return text


def explain(finding: Finding, language: str) -> tuple[str, str | None]:
    """Return what a finding shows as a sentence, and its detail if that exists in English only."""
    detail = visible(finding.detail)
    translated = translate(detail, language)
    if language != "es" or translated != detail or finding.reason is None:
        return translated, None
    return REASONS.get(finding.reason, ""), detail
