"""The signing keys of an installation: made once, rotated, kept, and readable by their owner only."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from foja.engine.embedded.signing_keys import FOLDER, SigningKey, SigningKeys, rotation
from foja.errors import Refused, SetupFailed
from foja.interfaces.cli import main
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.keys import public_key, signs_digest

START = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.fixture
def keys(tmp_path: Path) -> SigningKeys:
    days = (START + timedelta(days=each) for each in range(100))
    return SigningKeys(tmp_path, lambda: next(days))


def test_the_first_key_is_made_once(keys: SigningKeys, tmp_path: Path) -> None:
    assert keys.all() == []
    first = keys.current()
    assert keys.current().id == first.id
    [path] = (tmp_path / FOLDER).iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "private" not in repr(first).lower()


def test_it_signs_what_its_public_key_verifies(keys: SigningKeys, tmp_path: Path) -> None:
    content, key = b"document", keys.current()
    signature = key.sign(sha256(content).digest())
    assert signs_digest(public_key(key.public_key), signature, sha256(content).digest())
    for name, data in {"s": signature, "f": content, "k": key.public_pem().encode()}.items():
        (tmp_path / name).write_bytes(data)
    command = ["openssl", "dgst", "-sha256", "-verify", "k", "-signature", "s", "f"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout == b"Verified OK\n"


def test_openssl_reads_the_file(keys: SigningKeys, tmp_path: Path) -> None:
    key = keys.current()
    command = ["openssl", "pkey", "-in", str(tmp_path / FOLDER / "0001.pem"), "-pubout"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == key.public_pem()


def test_a_rotated_key_is_kept_with_its_times(keys: SigningKeys) -> None:
    first = keys.current()
    second = keys.rotate()
    assert [each.id for each in keys.all()] == [first.id, second.id]
    assert keys.current().id == second.id
    retired, used = keys.all()
    assert (retired.created_at, retired.retired_at) == (START, START + timedelta(days=1))
    assert (used.created_at, used.retired_at) == (START + timedelta(days=1), None)
    assert keys.find(first.id[:12]).id == first.id
    for unknown in ("", "zz"):
        with pytest.raises(Refused, match="list the keys"):
            keys.find(unknown)


def test_what_is_recorded_about_a_rotation_has_no_secret(keys: SigningKeys) -> None:
    first, second = keys.current(), keys.rotate()
    recorded = rotation(first, second)
    assert (recorded["previous"], recorded["key_id"]) == (first.id, second.id)
    assert "PRIVATE" not in json.dumps(recorded)
    assert "previous" not in rotation(None, first)


def test_ten_thousand_keys_are_read_in_the_order_of_their_numbers(keys: SigningKeys, tmp_path: Path) -> None:
    keys.current()
    path = tmp_path / FOLDER / "0001.pem"
    path.rename(path.with_name("9999.pem"))
    assert [keys.rotate().number, *(each.number for each in keys.all())] == [10_000, 9999, 10_000]


DAMAGED = {
    "empty": b"",
    "no time": b"-----BEGIN PRIVATE KEY-----\n",
    "a time without a zone": b"# signing key of Foja, created 2026-11-17T00:00:00\n",
    "no key": b"# signing key of Foja, created 2026-11-17T00:00:00+00:00\nx",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_key_is_refused_and_never_replaced(name: str, keys: SigningKeys, tmp_path: Path) -> None:
    keys.current()
    path = tmp_path / FOLDER / "0001.pem"
    path.write_bytes(DAMAGED[name])
    for attempt in (keys.current, keys.all, keys.rotate):
        with pytest.raises(SetupFailed, match="restore it from a backup"):
            attempt()
    assert path.read_bytes() == DAMAGED[name]


def test_a_key_that_others_can_read_is_refused(keys: SigningKeys, tmp_path: Path) -> None:
    keys.current()
    (tmp_path / FOLDER / "0001.pem").chmod(0o640)
    with pytest.raises(SetupFailed, match="treat the key as leaked"):
        keys.current()


def test_two_rotations_at_once_make_one_key(
    keys: SigningKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.current()
    other = SigningKeys(tmp_path)
    before = keys.all()

    def late() -> Iterator[list[SigningKey]]:
        yield before
        while True:
            yield SigningKeys(tmp_path).all()

    other.rotate()
    answers = late()
    monkeypatch.setattr(keys, "all", lambda: next(answers))
    with pytest.raises(Refused, match="another process"):
        keys.rotate()
    assert len(other.all()) == 2


def run(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> str:
    assert main(["keys", *words, "--home", str(home)]) == 0
    return capsys.readouterr().out


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no signing key yet" in run(capsys, tmp_path)
    exported = run(capsys, tmp_path, "export")
    [first] = json.loads(run(capsys, tmp_path, "list", "--json"))
    second = json.loads(run(capsys, tmp_path, "rotate", "--json"))
    assert first["public_key"] in exported
    assert first["id"] in run(capsys, tmp_path, "list")
    assert f"{second['id']} is kept" in run(capsys, tmp_path, "rotate")
    both = run(capsys, tmp_path, "export")
    trust = read([both])
    assert [sha256(each).hexdigest() for each in trust.signers[:2]] == [first["id"], second["id"]]
    assert len(trust.signers) == 3
    target = tmp_path / "signer.pem"
    run(capsys, tmp_path, "export", second["id"][:8], "-o", str(target))
    assert [sha256(each).hexdigest() for each in read([target.read_text()]).signers] == [second["id"]]
    assert "PRIVATE" not in exported + both
    assert main(["keys", "export", "zz", "--home", str(tmp_path)]) == 1
