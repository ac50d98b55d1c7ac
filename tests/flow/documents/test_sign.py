"""`foja sign`, from a signature that openssl made to the verdict of `foja verify`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

import foja
from tests.flow.command import Run, check_refused
from tests.flow.judge.test_signatures_openssl import CONTENT, openssl, sign, write


async def work() -> None:
    async with foja.connect() as app:
        await app.work(until_idle=True)


def test_a_signature_goes_from_openssl_to_the_verdict(run: Run, home: Path, tmp_path: Path) -> None:
    write(tmp_path, ec.generate_private_key(ec.SECP256R1()))
    contract = tmp_path / "contract.txt"
    sign(tmp_path, "-cades")
    openssl(tmp_path, "pkey", "-in", "ana.key", "-pubout", "-out", "ana.pub")
    openssl(tmp_path, "dgst", "-sha256", "-sign", "ana.key", "-out", "contract.sig", "contract.txt")
    document = run("protect", contract, "--json").document["id"]
    signed = run("sign", contract, tmp_path / "contract.p7s")
    assert (signed.code, signed.err) == (0, "")
    assert "signed, checked: “CN=Ana” signed the digest" in signed.out
    assert run("sign", document, tmp_path / "contract.sig", "--key", tmp_path / "ana.pub").code == 0
    scan = run("sign", document, contract, "--format", "unchecked", "--signer", "Ana", "--json")
    assert scan.document["payload"]["format"] == "unchecked"
    contract.write_bytes(CONTENT + b"with a third line\n")
    openssl(tmp_path, "dgst", "-sha256", "-sign", "ana.key", "-out", "other.sig", "contract.txt")
    refused = run("sign", document, tmp_path / "other.sig", "--key", tmp_path / "ana.pub")
    check_refused(refused, 1, "SIGNATURE_INVALID")
    shown = run("status", document).out
    [signature, *_] = [line.split() for line in shown.splitlines() if "“CN=Ana”" in line]
    assert signature[1:3] == ["cms", "checked"]
    assert "it was recorded as unchecked" in shown

    asyncio.run(work())
    bundle = tmp_path / "contract.asice"
    assert run("bundle", document, "-o", bundle).code == 0
    (tmp_path / "log.vkey").write_text(run("log", "key").out)
    (tmp_path / "tsa.pem").write_text(run("tsa", "root").out)
    trust = [word for name in ("log.vkey", "tsa.pem") for word in ("--trust", tmp_path / name)]
    verified = run("verify", bundle, *trust, "--trust", tmp_path / "root.pem", "--json")
    found = [each for each in verified.document["evidence"] if each["evidence"] == "signature"]
    assert [(each["status"], each["reason"]) for each in found] == [
        ("VERIFIED", None),
        ("INDETERMINATE", "SIGNER_NOT_TRUSTED"),
        ("UNSUPPORTED", "NOT_CHECKED"),
    ]
    verified = run("verify", bundle, *trust, "--trust", tmp_path / "ana.pub", "--json")
    assert verified.document["verdict"] == "TOTAL_PASSED"
