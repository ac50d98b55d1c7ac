"""Go's own `note` and `tlog` (golang.org/x/mod, from Debian) agree about cosignatures and growth."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from foja.engine.embedded.cosigner import LocalCosigner
from foja.pure.proofs.cosignature import CosignerKey, find_cosignatures
from tests.other_tools import X_MOD, agreed, output
from tests.rules.logs import KEY, MemoryLog

pytestmark = pytest.mark.long
SOURCE = Path(__file__).parent / "go" / "cosigned.go"
GOPATH = Path("/usr/share/gocode")
VECTORS = Path(__file__).parents[2] / "vectors" / "cosignatures"
PROGRAM = Path.home() / ".cache" / "foja-test" / "go"


@cache
def program() -> Path | None:
    """Return the compiled program, or None if Go or x/mod cannot be had."""
    target = PROGRAM / f"cosigned-{sha256(SOURCE.read_bytes()).hexdigest()[:12]}"
    if target.exists():
        return target
    if not shutil.which("go") or not (GOPATH / "src/golang.org/x/mod/sumdb/note").exists():
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".{os.getpid()}")
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GOPATH), "GOFLAGS": ""}
    environment["GOCACHE"] = str(PROGRAM / "cache")
    subprocess.run(["go", "build", "-o", draft, SOURCE], env=environment, check=True, timeout=280)
    return draft.replace(target)


def ask(**given: Any) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the answer and the errors of the program."""
    path = program()
    if path is None:
        pytest.skip("Go is not here (apt install golang-go golang-golang-x-mod-dev)")
    growth = [base64.b64encode(each).decode() for each in given.pop("growth", ())]
    ran = subprocess.run(
        [path], input=json.dumps({**given, "growth": growth}), capture_output=True, text=True, timeout=60
    )
    return ran.returncode, json.loads(ran.stdout or "{}"), ran.stderr


def test_go_and_the_judge_count_the_same_cosigners(tmp_path: Path) -> None:
    log, notes, keys = MemoryLog(), {}, list[str]()
    for size in (5, 300):
        notes[size] = log.note(size)
    for name in ("one", "two"):
        with LocalCosigner.opened(tmp_path / name, [KEY.verifier()], name=f"{name}.example") as cosigner:
            keys.append(cosigner.vkey)
            notes[5] += cosigner.reply(log.request(0, 5)).text
            notes[300] += cosigner.reply(log.request(5, 300)).text
    given = {"log": KEY.verifier().vkey(), "cosigners": keys, "old": notes[5], "new": notes[300]}
    code, answer, errors = ask(**given, growth=log.proof(5, 300))
    assert code == 0, errors
    assert (answer["size"], answer["signers"]) == (300, ["log.example", "one.example", "two.example"])
    found = find_cosignatures(notes[300], [CosignerKey.from_vkey(each) for each in keys], ())
    assert answer["times"] == {each.key.name: each.time for each in found}
    fork = MemoryLog(forked_at=3)
    code, _, errors = ask(**given | {"old": fork.note(5)}, growth=log.proof(5, 300))
    assert (code, "proof" in errors) == (1, True), "Go refuses the growth of another history, as we do"
    wrong = notes[300].replace(notes[300].split()[-1], notes[5].split()[-1])
    code, _, errors = ask(**given | {"new": wrong}, growth=log.proof(5, 300))
    assert (code, "invalid signature" in errors) == (1, True)
    words = ("dpkg-query", "-W", "-f", "${Version}", "golang-golang-x-mod-dev")
    agreed("checkpoints, Ed25519 cosignatures", X_MOD, output(*words, pattern=r"(\S+)") + " (Debian)")


def test_go_accepts_the_real_checkpoint() -> None:
    from tests.rules.proofs.test_cosignature import REAL, REAL_COSIGNERS, REAL_LOG

    code, answer, errors = ask(log=REAL_LOG, cosigners=REAL_COSIGNERS, old=REAL, new=REAL)
    assert code == 0, errors
    assert len(answer["times"]) == 4
