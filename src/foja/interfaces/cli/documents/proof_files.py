"""A folder of proofs, each in its tool's own format, with the trust and the commands that check them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

from foja.errors import SetupFailed
from foja.interfaces.cli.output import print_result
from foja.interfaces.cli.output_files import write_file
from foja.pure.proofs.ers import read_record, root_of
from foja.pure.proofs.evm import parse_header, raw_transaction
from foja.pure.proofs.evm.anchor import parse_anchor
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.transaction import parse_transaction
from foja.pure.proofs.rekor.batched import split_batched

TRUST, ROOTS, SIGNER, README = "trust.txt", "roots.pem", "signer.pem", "README.txt"
PEM = "-----BEGIN"
RECORD, TOKEN = ".ers", ".tst"
# How each proof is checked with the tool of its own format; the longest ending that fits counts.
COMMANDS = {
    ".tsr": f"openssl ts -verify -digest {{witness}} -in {{name}} -CAfile {ROOTS}",
    ".ots": "ots{network} verify -d {witness} {name}    # with your own Bitcoin node",
    ".sigstore.json": f"cosign verify-blob --bundle {{name}} --key {SIGNER} --use-signed-timestamps "
    "--trusted-root TRUSTED_ROOT {file}    # the trusted root of the log",
    ".evm.json": "cast tx {txid} input    # prints {calldata}",
    ".tst": f"openssl ts -verify -digest {{root}} -token_in -in {{name}} -CAfile {ROOTS}"
    "    # docs/verify.md shows how the digest leads to this root",
}


def check_folder(arguments: Namespace) -> None:
    """Raise `SetupFailed` if the folder to write has files, unless --force is given."""
    folder: Path = arguments.output
    if folder.exists() and any(folder.iterdir()) and not arguments.force:
        raise SetupFailed(f"{folder} is not empty; give another folder, or --force to replace files in it")


def write_folder(arguments: Namespace, files: Mapping[str, bytes], trust: Iterable[str]) -> None:
    """Write the files and what they are checked with, and print their names."""
    folder: Path = arguments.output
    lines = list(trust)
    roots = [line for line in lines if line.startswith(f"{PEM} CERTIFICATE")]
    signers = [line for line in lines if line.startswith(f"{PEM} PUBLIC KEY")]
    everything = {**files, TRUST: trust_text(lines).encode(), ROOTS: trust_text(roots).encode()}
    if signers:
        everything[SIGNER] = trust_text(signers[-1:]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in everything.items():
        write_file(arguments, folder / name, data)
    written = [f"wrote {folder / name}" for name in everything]
    print_result(arguments, {"folder": folder, "files": list(everything)}, *written)


def trust_text(lines: Iterable[str]) -> str:
    """Return trust as the text of a file."""
    return "".join(f"{line.rstrip()}\n" for line in lines)


def for_others(files: Mapping[str, bytes], witness: str) -> dict[str, bytes]:
    """Return these proofs and, of each that is about a batch, the parts that other tools take."""
    found = dict(files)
    for name, data in files.items():
        if name.endswith(".rekor.json"):
            bundle, place = split_batched(data)
            stem = name.removesuffix(".rekor.json")
            found[f"{stem}.sigstore.json"] = bundle
            found[f"{stem}.root"] = place.root_file(bytes.fromhex(witness))
        elif name.endswith(RECORD):
            found[name.replace(RECORD, TOKEN)] = read_record(data).token
    return found


def command_of(
    name: str, files: Mapping[str, bytes], witness: str, trust: Iterable[str], file: str = "FILE"
) -> str | None:
    """Return the command of others that checks a proof, or None if the file is not a proof of theirs."""
    endings = [each for each in COMMANDS if name.endswith(each)]
    if not endings:
        return None
    ending = max(endings, key=len)
    root = name.replace(".sigstore.json", ".root")
    values = {"name": name, "witness": witness, "file": root if root in files and root != name else file}
    if ending == ".evm.json":
        values |= _transaction(files[name])
    elif ending == TOKEN:
        values["root"] = root_of(read_record(files[name.replace(TOKEN, RECORD)]).lists).hex()
    network = [line.split(":")[1] for line in trust if line.startswith("bitcoin-network:")]
    values["network"] = f" --btc-{network[0]}" if network and network[0] != "main" else ""
    return COMMANDS[ending].format(**values)


def _transaction(proof: bytes) -> dict[str, str]:
    """Return the hash and the calldata of the transaction in a proof."""
    inclusion = parse_anchor(proof).inclusion
    raw = raw_transaction(parse_header(inclusion.header), inclusion)
    return {"txid": f"0x{keccak256(raw).hex()}", "calldata": f"0x{parse_transaction(raw).data.hex()}"}
