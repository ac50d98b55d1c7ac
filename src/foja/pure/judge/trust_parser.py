"""Parse trust: certificates, keys, block hashes and policies, recognised by their content.

An item is one text or one file's bytes: a DER certificate, a `trusted_root.json`, a policy
(docs/verify.md), what `…/trust` answers over HTTP (`{"trust": […]}`), or lines. A line is a PEM block, the
`name+id+key` of the log of a ledger, of a cosigner or of a monitor, `rekor:<name+id+key>` of a Rekor log,
`restart:<origin>`, `cosigners:2 of 3`, `evm-block:0x…`, `evm-chain:137`, `evm-sender:0x…`,
`bitcoin-header:<height>:<hex>`, `bitcoin-network:<name>:<minimum difficulty>`,
`algorithm-until:rsa<3000:2026-01-01`, `name <actor> "<name>"`, a `# remark`, or empty.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from foja.errors import NotCanonical, Refused
from foja.pure.core.canonical import Json, parse
from foja.pure.core.note import Verifier, from_base64
from foja.pure.core.serializer import MAX_INTEGER
from foja.pure.judge.trust import Identity, Trust
from foja.pure.proofs.algorithms import ETSI, Sunset, parse_sunset
from foja.pure.proofs.cosignature import CosignerKey, MLDSACosignerKey, Policy, parse_policy
from foja.pure.proofs.monitor_statement import MonitorKey
from foja.pure.proofs.ots.network import MINIMUM_DIFFICULTY

POLICY = "foja/policy/v1"
MAX_BYTES = 2 << 20
_NAME = re.compile(r'name (\S+) (".*")')
_BEGIN = re.compile("-----BEGIN ([A-Z0-9 ]+)-----")
_VKEY = re.compile(r"[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+")
_STANDARD = "algorithm-until:ts-119-312"
_SIGSTORE = "application/vnd.dev.sigstore.trustedroot"

Found = dict[str, Any]


def read(items: Iterable[str | bytes], headers: Iterable[tuple[int, bytes]] = ()) -> Trust:
    """Return the trust that these items define, or raise `Refused` for one that cannot be read."""
    found: Found = {"headers": list(headers)}
    for item in items:
        if len(item) > MAX_BYTES:
            raise Refused(f"a trust item has {len(item)} characters, over {MAX_BYTES}; give only the roots")
        _read_item(found, item)
    _choose_network(found)
    _choose_sunsets(found)
    _check_names(found)
    policy = _cosigner_policy(found)
    _check_purposes(found)
    lists = {name: tuple(dict.fromkeys(value)) for name, value in found.items() if isinstance(value, list)}
    return Trust(**{**found, **lists}, cosigner_policy=policy)


def _cosigner_policy(found: Found) -> Policy | None:
    """Take the policy about cosigners, now that all their keys are known."""
    texts = {*found.pop("cosigner_policies", [])}
    if len(texts) > 1:
        raise Refused(f"there are {len(texts)} policies about cosigners; give one")
    return parse_policy(texts.pop(), found.get("cosigners", [])) if texts else None


def _check_purposes(found: Found) -> None:
    """Refuse a key that is named for a ledger and for a Rekor log: a ledger does not vouch for itself."""
    ledgers = {each.public_key for each in found.get("logs", ())}
    for each in found.get("rekor_logs", ()):
        if each.public_key in ledgers:
            raise Refused(
                f"the key of {each.name!a} is named twice, as that of a ledger and with `rekor:`; say which"
            )


def _choose_network(found: Found) -> None:
    """Replace the Bitcoin networks that were named by the one network and its minimum difficulty."""
    named = dict.fromkeys(found.pop("networks", ()))
    if len(named) > 1:
        names = " and ".join(f"{name}:{difficulty}" for name, difficulty in named)
        raise Refused(f"trust may name one Bitcoin network, not {names}; verify their proofs separately")
    for name, difficulty in named:
        found["bitcoin_network"] = name
        found.setdefault("minimum_difficulty", difficulty)  # a policy may ask for another one


def _choose_sunsets(found: Found) -> None:
    """Refuse two dates for one algorithm; those of the standard give way to a date that is stated."""
    chosen: dict[tuple[str, int | None], Sunset] = {}
    for each in found.get("sunsets", ()):
        if chosen.setdefault(each[:2], each) != each:
            raise Refused(f"two dates are stated for one algorithm, {chosen[each[:2]]} and {each}; give one")
    standard = ETSI if found.pop("standards", None) else ()
    found["sunsets"] = [*chosen.values(), *(each for each in standard if each[:2] not in chosen)]


def _check_names(found: Found) -> None:
    """Refuse two names for one actor: a report shows one."""
    chosen: dict[str, str] = {}
    for actor, name in found.get("names", ()):
        if chosen.setdefault(actor, name) != name:
            raise Refused(f"two names are stated for {actor[:80]!a}; give one")


def _read_item(found: Found, item: str | bytes) -> None:
    if isinstance(item, bytes) and item[:1] == b"\x30":
        return _add_der(found, "CERTIFICATE", item)
    try:
        text = item if isinstance(item, str) else item.decode()
    except UnicodeDecodeError:
        raise Refused("a trust item is neither text nor a DER certificate; give PEM, a key or JSON") from None
    if text.lstrip().startswith("{"):
        return _add_json(found, text)
    lines = map(str.strip, text.split("\n"))
    for line in lines:
        if begun := _BEGIN.fullmatch(line):
            _add_pem(found, begun[1], _body(begun[1], lines))
        else:
            _add_line(found, line)
    return None


def _body(kind: str, lines: Iterator[str]) -> str:
    """Return the lines of a PEM block that has begun, up to its end."""
    body = list[str]()
    for line in lines:
        if line == f"-----END {kind}-----":
            return "".join(body)
        body.append(line)
    raise Refused(f"a PEM block {kind} does not end; copy all of it")


def _add_pem(found: Found, kind: str, body: str) -> None:
    try:
        der = b64decode("".join(body.split()), validate=True)
    except (NotBase64, ValueError):
        raise Refused(f"a PEM block {kind} is not base64; copy all of it") from None
    _add_der(found, kind, der)


def _add_der(found: Found, kind: str, der: bytes) -> None:
    if kind not in _DER:
        raise Refused(f"a PEM block {kind} cannot be trusted; give certificates or public keys")
    what, field_of = _DER[kind]
    try:
        name = field_of(der)
    except Refused:
        raise
    except Exception as error:  # the library raises many types for unreadable bytes
        raise Refused(f"{what} cannot be used ({error}); give it as PEM, or do without it") from None
    _add(found, name, der)


# Each returns the field of `Trust` that readable bytes belong to. The imports are slow and often not needed.


def _field_of_certificate(der: bytes) -> str:
    from foja.pure.proofs.tsa.certificate import certificate

    return "roots" if certificate(der).is_self_issued else "intermediates"


def _field_of_crl(der: bytes) -> str:
    from cryptography.x509 import load_der_x509_crl

    from foja.pure.proofs.tsa.revocation import MAX_BYTES

    if len(der) > MAX_BYTES:  # it would be ignored later
        raise Refused(f"a list of revoked certificates of {len(der)} bytes is over {MAX_BYTES}; leave it out")
    load_der_x509_crl(der)
    return "crls"


def _field_of_key(der: bytes) -> str:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    load_der_public_key(der)
    return "signers"


def _add_line(found: Found, line: str) -> None:
    if not line or line.startswith("#"):
        return
    prefix, colon, rest = line.partition(":")
    if named := _NAME.fullmatch(line):
        _add(found, "names", (_text("name", named[1]), _text("name", _from_json(line, named[2]))))
    elif line == _STANDARD:
        _add(found, "standards", line)
    elif colon and prefix in _LINES:
        name, read_value = _LINES[prefix]
        try:
            _add(found, name, read_value(rest))
        except ValueError:
            raise Refused(f"{line[:80]!a} cannot be read; see docs/verify.md") from None
    elif _VKEY.fullmatch(line):
        _add_key(found, line)
    else:
        raise Refused(f"not a trust item: {line[:80]!a}; see docs/verify.md")


def _from_json(line: str, text: str) -> Json:
    try:
        return parse(text)
    except NotCanonical:
        raise Refused(f"{line[:80]!a} cannot be read; see docs/verify.md") from None


def name_lines(names: Mapping[str, str]) -> list[str]:
    """Return names of actors as lines of trust, without those that such a line cannot hold."""
    printable = {actor: name for actor, name in names.items() if f"{actor}{name}".isprintable()}
    lines = [
        f"name {actor} {json.dumps(printable[actor], ensure_ascii=False)}" for actor in sorted(printable)
    ]
    return [line for line in lines if _NAME.fullmatch(line)]


def _add_key(found: Found, line: str) -> None:
    """Add the key of a log, a cosigner or a monitor, as its text says."""
    key = from_base64(line.split("+", 2)[-1]) or b""
    kind = next((each for each in _KEYS if key.startswith(each.ALGORITHM)), Verifier)
    _add(found, _KEYS[kind], kind.from_vkey(line))


def _add_json(found: Found, text: str) -> None:
    try:
        document = parse(text)
    except NotCanonical as error:
        raise Refused(f"a trust item starts like JSON, but is not valid JSON ({error})") from None
    if isinstance(document, dict) and str(document.get("mediaType", "")).startswith(_SIGSTORE):
        from foja.pure.proofs.rekor.trusted_root import parse_trusted_root

        parse_trusted_root(text.encode())
        _add(found, "sigstore", text.encode())
    elif isinstance(document, dict) and document.get("form") == POLICY:
        _add_policy(found, document)
    elif isinstance(document, dict) and document.keys() == {"trust"}:
        _items(found, "trust", document["trust"])
    else:
        raise Refused(
            f"a JSON trust item must be a trusted_root.json, an answer of `…/trust`, or of the form {POLICY}"
        )


def _add_policy(found: Found, policy: Mapping[str, Json]) -> None:
    """Add a policy; refuse unknown fields, because one may be meant as a requirement."""
    for name, value in policy.items():
        if name == "form":
            continue
        if name not in POLICY_FIELDS:
            raise Refused(f"the policy's field {name!a} is not known; see docs/verify.md")
        POLICY_FIELDS[name](found, name, value)


def _texts(found: Found, name: str, value: Json) -> None:
    _state(found, name, tuple(_text(name, each) for each in _strings(name, value)))


def _items(found: Found, name: str, value: Json) -> None:
    for item in _strings(name, value):
        _read_item(found, item)


def _lines(prefix: str) -> Callable[[Found, str, Json], None]:
    def add(found: Found, name: str, value: Json) -> None:
        for each in _strings(name, value):
            _add_line(found, f"{prefix}:{each}")

    return add


def _identities(found: Found, name: str, value: Json) -> None:
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict) or set(each) != {"subject", "issuer"}:
            raise Refused(f"the policy's {name} must be a list of objects with `subject` and `issuer`")
        _add(found, name, Identity(_text(name, each["subject"]), _text(name, each["issuer"])))


def _count(found: Found, name: str, value: Json) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INTEGER:
        raise Refused(f"the policy's {name} must be a whole number from 0 to {MAX_INTEGER}, not {value!a}")
    _state(found, name, value)


def _flag(found: Found, name: str, value: Json) -> None:
    if not isinstance(value, bool):
        raise Refused(f"the policy's {name} must be true or false, not {value!a}")
    _state(found, name, value)


def _state(found: Found, name: str, value: object) -> None:
    """Take the value of a policy, or raise `Refused` if another policy states another one."""
    if found.setdefault(name, value) != value:
        raise Refused(f"two policies state {name} differently; give one, or verify with each")


def _cosigners(found: Found, name: str, value: Json) -> None:
    _add_line(found, f"{name}:{_text(name, value)}")


def _numbers(found: Found, name: str, value: Json) -> None:
    for each in value if isinstance(value, list) else [value]:
        _add_line(found, f"evm-chain:{each}")


def _strings(name: str, value: Json) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Refused(f"the policy's {name} must be a list of strings, not {value!a}")
    return [each for each in value if isinstance(each, str)]


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise Refused(f"the policy's {name} holds {value!a}, which is not printable text")
    return value


def _hex(size: int) -> Callable[[str], bytes]:
    def decode(text: str) -> bytes:
        data = bytes.fromhex(text.removeprefix("0x"))
        if len(data) != size:
            raise ValueError(text)
        return data

    return decode


def _header(text: str) -> tuple[int, bytes]:
    height, _, header = text.partition(":")
    return _natural(height), _hex(80)(header)


def _network(text: str) -> tuple[str, int]:
    name, colon, difficulty = text.partition(":")
    least = MINIMUM_DIFFICULTY.get(name)
    if least is None or (colon and _natural(difficulty) < least):
        raise ValueError(text)
    return name, _natural(difficulty) if colon else least


def _origin(text: str) -> str:
    if not text.strip().isprintable() or not text.strip():
        raise ValueError(text)
    return text.strip()


def _natural(text: str) -> int:
    if not re.fullmatch("[0-9]{1,15}", text):
        raise ValueError(text)
    return int(text)


def _add(found: Found, name: str, value: object) -> None:
    found.setdefault(name, []).append(value)


_DER: dict[str, tuple[str, Callable[[bytes], str]]] = {
    "CERTIFICATE": ("a certificate to trust", _field_of_certificate),
    "PUBLIC KEY": ("a public key to trust", _field_of_key),
    "X509 CRL": ("a list of revoked certificates", _field_of_crl),
}
_KEYS: dict[type[Verifier], str] = {
    Verifier: "logs",
    CosignerKey: "cosigners",
    MLDSACosignerKey: "cosigners",
    MonitorKey: "monitors",
}
_LINES: dict[str, tuple[str, Callable[[str], object]]] = {
    "algorithm-until": ("sunsets", parse_sunset),
    "cosigners": ("cosigner_policies", str.strip),
    "rekor": ("rekor_logs", Verifier.from_vkey),
    "restart": ("restarts", _origin),
    "evm-block": ("blocks", _hex(32)),
    "evm-chain": ("chains", _natural),
    "evm-sender": ("senders", _hex(20)),
    "bitcoin-header": ("headers", _header),
    "bitcoin-network": ("networks", _network),
}
POLICY_FIELDS: dict[str, Callable[[Found, str, Json], None]] = {
    "required": _texts,
    "trust": _items,
    "timestamp_policies": _texts,
    "revocation_required": _flag,
    "minimum_difficulty": _count,
    "worst_accuracy_ms": _count,
    "algorithms": _lines("algorithm-until"),
    "cosigners": _cosigners,
    "evm_blocks": _lines("evm-block"),
    "evm_chains": _numbers,
    "evm_senders": _lines("evm-sender"),
    "bitcoin_headers": _lines("bitcoin-header"),
    "identities": _identities,
}
