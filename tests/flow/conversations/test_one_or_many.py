"""One text or one path where several are usual is one item; a misspelt setting gets the right name."""

from __future__ import annotations

from pathlib import Path

import pytest

import foja
from foja.app import App
from foja.errors import BadPayload, Refused, SetupFailed
from foja.pure.models.documents.events import Evidence


async def test_one_evidence_is_enough(app: App) -> None:
    """`protect("tsa")` ended with `unknown evidence 'a'`."""
    document = await app.documents.add(b"a contract", name="contract.txt")
    assert (await document.protect("tsa")).payload["required_evidence"] == ["tsa"]
    assert (await document.protect(Evidence.TSA)).replayed
    with pytest.raises(BadPayload, match="unknown evidence 'stamp'"):
        await document.protect("stamp")
    stream = await app.conversations.open()
    await stream.append("thinking", {"content": "a"})
    transcript = await app.conversations.protect(stream.id, "tsa")
    assert (await transcript.view()).required_evidence == ("tsa",)
    assert await app.documents.failed("tsa") == []
    assert await app.documents.grant(document.id, "tsa") == []
    await app.access.keys.create("default", "write")


async def test_one_root_and_one_proof_are_enough(app: App, tmp_path: Path) -> None:
    """`trust="trust.txt"` ended with `not a trust item: 't'`, and one `Path` with a `TypeError`."""
    document = await app.documents.add(b"a contract", name="contract.txt")
    await document.protect("tsa")
    await app.work(until_idle=True)
    bundle = await document.bundle()
    (tmp_path / "trust.txt").write_text("\n".join(app.trust))
    (tmp_path / "contract.asice").write_bytes(bundle)
    expected = foja.verify(bundle, trust=app.trust).verdict
    for trust in (tmp_path / "trust.txt", str(tmp_path / "trust.txt"), "\n".join(app.trust)):
        assert foja.verify(bundle, trust=trust).verdict == expected
    for proof in (bundle, tmp_path / "contract.asice", str(tmp_path / "contract.asice")):
        assert foja.verify(b"a contract", trust=app.trust, proofs=proof).verdict == expected
    for unfit in (None, 5, [5]):
        with pytest.raises(Refused, match="is not a trust item"):
            foja.verify(bundle, trust=unfit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "advice"), [("tsa_url", "did you mean tsa_urls?"), ("colour", "docs/settings.md lists")]
)
def test_a_misspelt_setting_is_refused_with_the_right_name(name: str, advice: str) -> None:
    """`connect(tsa_url=…)` was a bare `TypeError`."""
    with pytest.raises(SetupFailed, match=rf"connect\(\) has no argument '{name}'.*{advice[:12]}") as refused:
        foja.connect(**{name: "x"})  # type: ignore[arg-type]
    assert advice in str(refused.value)
