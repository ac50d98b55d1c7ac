"""What a person who can get a timestamp may change in a bundle, and what the report says about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

import foja
from foja.pure.core.bundle.assembly import Contents
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.finding import Reason
from tests.rules.bundles import NOW, Scene, Stamper

SCENE = Scene()
AT = NOW + timedelta(hours=1)
KEY, ROOT = SCENE.key.verifier().vkey().encode(), SCENE.stamper.root.pem


def resealed(**trust: bytes) -> Report:
    """Judge a bundle with these files in `trust/`, named with `_` for `.`, listed and sealed anew."""

    def change(contents: Contents) -> Contents:
        return replace(contents, trust={name.replace("_", "."): data for name, data in trust.items()})

    return foja.verify(SCENE.changed(change), SCENE.trust, AT)


@pytest.mark.parametrize("name", ["setup_exe", "log_vkey_sh", "roots_pem", "tsa_PEM", "tsa_pem/x"])
def test_trust_holds_no_other_file(name: str) -> None:
    """A file that the format does not name is refused, wherever it lies below trust/."""
    report = resealed(tsa_pem=ROOT, **{name: b"MZ"})
    assert report.verdict is Verdict.TOTAL_FAILED
    assert report.evidence[0].reason is Reason.UNREFERENCED_ENTRY


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tsa_pem", b"MZ\x90\x00"),
        ("tsa_pem", b"# run this first\n" + ROOT),
        ("tsa_pem", ROOT + b"\n"),
        ("tsa_pem", ROOT.replace(b"CERTIFICATE", b"PRIVATE KEY")),
        ("tsa_pem", ROOT.replace(b"\n", b"\r\n")),
        ("tsa_pem", ROOT * 3000),
        ("log_vkey", b"MZ\x90\x00"),
        ("log_vkey", b""),
        ("log_vkey", KEY + b"\n\n"),
        ("log_vkey", KEY + b"\n" + KEY),
        ("log_vkey", b"\xff" + KEY),
        ("log_vkey", b"evm-block:0x" + b"00" * 32),
    ],
)
def test_trust_holds_only_certificates_and_a_key(name: str, data: bytes) -> None:
    """A file with the right name and another content is refused."""
    report = resealed(**{name: data})
    assert report.verdict is Verdict.TOTAL_FAILED
    assert report.evidence[0].reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "trust",
    [{}, {"tsa_pem": ROOT}, {"log_vkey": KEY + b"\n"}, {"tsa_pem": b""}, {"tsa_pem": Stamper().root.pem * 2}],
)
def test_copies_may_be_left_out_or_be_of_others(trust: dict[str, bytes]) -> None:
    """Docs/bundle.md says that nothing vouches for the copies; they change nothing."""
    assert resealed(**trust).verdict is Verdict.TOTAL_PASSED
