"""The text in every proof file: how to check it with other tools. It never changes: the judge compares it."""

from __future__ import annotations

from typing import Final

README: Final = r"""This file proves that one event is in a signed log. Nothing in it has to be trusted.
Este archivo prueba que un evento está en un registro firmado. No hay que confiar en nada de lo que contiene.

  event.json        the event, one JSON object (RFC 8785)       / el evento
  arguments.json    if present: the arguments that were decided / si está: los argumentos decididos
  event.tlog-proof  its place in the log (c2sp.org/tlog-proof)  / su lugar en el registro
  event.checkpoint  the signed checkpoint, with cosignatures    / el punto de control firmado, con cofirmas

Take the key of the log (name+id+key) from its operator, not from this file; below it is in foja.vkey.
Pida la clave del registro (name+id+key) a quien lo opera, no a este archivo; abajo está en foja.vkey.

1. With Foja, offline / Con Foja, sin red:

    foja verify X.foja-proof --trust foja.vkey
    foja verify event.json --proof event.tlog-proof --trust foja.vkey

2. Without Foja: unzip, then Python alone for the hashes, and openssl for the signature.
   Sin Foja: descomprima; Python solo para las huellas, y openssl para la firma.

python3 - <<'END'
from base64 import b64decode
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from json import dumps, loads
from uuid import UUID
raw = open("event.json", "rb").read()
whole = loads(raw)
event = whole["event"]
text = lambda value: dumps(value, ensure_ascii=False).encode()
number = lambda value: value.to_bytes(8, "big")
join = lambda *fields: b"".join(len(each).to_bytes(4, "big") + each for each in fields)
body_hash, before = bytes.fromhex(whole["body_hash"]), bytes.fromhex(whole["previous_chain_hash"])
if whole["salt"]:
    payload = raw.partition(b'"payload":')[2].rpartition(b',"seq":')[0]
    body = b'{"actor":' + text(event["actor"]) + b',"payload":' + payload
    body += b',"source":' + text(event["_source"]) + b',"v":' + text(event["v"]) + b"}"
    print("body", sha256(b"\x03" + bytes.fromhex(whole["salt"]) + body).digest() == body_hash)
else:
    print("body not shown: it was erased or is withheld")
entity, seq = UUID(event["entity_id"]).bytes, number(event["seq"])
at = datetime.fromisoformat(event["at"]) - datetime(1970, 1, 1, tzinfo=timezone.utc)
at = at // timedelta(microseconds=1)
link = join(before, entity, seq, UUID(event["id"]).bytes, event["kind"].encode(), number(at), body_hash)
chain = sha256(b"\x02" + link).digest()
print("chain", chain == bytes.fromhex(whole["chain_hash"]))
head, _, note = open("event.tlog-proof", encoding="utf-8").read().partition("\n\n")
_, place, *path = head.split("\n")
signed, _, signatures = note.rpartition("\n\n")
origin, size, root = signed.split("\n")[:3]
index, last = int(place.split()[1]), int(size) - 1
node = sha256(b"\x00\x04" + entity + seq + chain).digest()
for each in map(b64decode, path):
    if index % 2 or index == last:
        node = sha256(b"\x01" + each + node).digest()
        while index and not index % 2:
            index, last = index // 2, last // 2
    else:
        node = sha256(b"\x01" + node + each).digest()
    index, last = index // 2, last // 2
print("log", last == 0 and node == b64decode(root))
key = b64decode(open("foja.vkey").read().strip().split("+", 2)[2])[1:]
open("key.der", "wb").write(bytes.fromhex("302a300506032b6570032100") + key)
open("note.txt", "wb").write((signed + "\n").encode())
open("note.sig", "wb").write(b64decode(signatures.split("\n")[0].split(" ")[2])[4:])
END
openssl pkeyutl -verify -pubin -inkey key.der -keyform DER -rawin -in note.txt -sigfile note.sig

   It prints True three times, then "Signature Verified Successfully" (the first signature of the checkpoint).
   If there is arguments.json, its SHA-256 (sha256sum arguments.json) is args_sha256 in event.json.
   Imprime True tres veces y después "Signature Verified Successfully" (primera firma del punto de control).
   Si hay arguments.json, su SHA-256 (sha256sum arguments.json) es args_sha256 en event.json.

A log proves order, not time: the time in the event is that of the clock of the ledger.
Un registro prueba el orden, no la hora: la hora del evento es la del reloj del libro de eventos.
"""
