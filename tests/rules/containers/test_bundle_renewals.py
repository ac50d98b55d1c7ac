"""Renewals as EN 319 162-1 names them, and those of the first version, which are still read."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from lxml import etree

import foja
from foja.pure.core.bundle import asic, assembly, names
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.bundle.asic import AsicManifest
from foja.pure.core.bundle.reader import open_container
from foja.pure.judge.render import as_text
from foja.pure.judge.report import Report, Verdict
from tests.rules.bundles import NOW, Scene

SCENE = Scene()
SPACES = {"asic": asic.ASIC}
VECTORS = Path(__file__).parents[2] / "vectors"
AT = datetime(2027, 1, 1, tzinfo=UTC)
FIRST = "META-INF/ASiCArchiveManifest001.xml"


def files_of(data: bytes, renewals: int = 1) -> list[Part]:
    """Return the files of a container that is to be renewed."""
    container = open_container(io.BytesIO(data))
    return [part(names.renewed_name(each, renewals), container.read(each)) for each in container.names]


def renewed(data: bytes, number: int, days: int | None = None) -> bytes:
    """Return a container with one more token over everything in it."""
    files = files_of(data, number)
    moment = NOW + timedelta(days=days or number)
    token = SCENE.stamper.token(sha256(assembly.listing(files, number)).digest(), moment)
    return b"".join(write(assembly.seal(files, token, number)))


def judged(data: bytes) -> Report:
    return foja.verify(data, SCENE.trust, AT)


def roots_in(data: bytes) -> list[str]:
    """Return the files that the newest list marks as the one that it renews."""
    tree = etree.fromstring(open_container(io.BytesIO(data)).read(names.NEWEST_MANIFEST))
    return tree.xpath("asic:DataObjectReference[@Rootfile='true']/@URI", namespaces=SPACES)  # type: ignore[no-any-return]


def test_the_newest_renewal_has_the_name_of_the_standard() -> None:
    """EU DSS looks for `ASiCArchiveManifest.xml`, and for `Rootfile` at the list that it renews."""
    once = renewed(SCENE.bundle(), 1)
    inside = open_container(io.BytesIO(once)).names
    assert inside[-2:] == (names.NEWEST_MANIFEST, "META-INF/timestamp001.tst")
    assert roots_in(once) == []
    twice = renewed(once, 2)
    inside = open_container(io.BytesIO(twice)).names
    assert inside[-4:] == (
        FIRST,
        "META-INF/timestamp001.tst",
        names.NEWEST_MANIFEST,
        "META-INF/timestamp002.tst",
    )
    assert roots_in(twice) == [FIRST]
    thrice = renewed(twice, 3)
    assert roots_in(thrice) == ["META-INF/ASiCArchiveManifest002.xml"]
    for data in (once, twice, thrice):
        assert judged(data).verdict is Verdict.TOTAL_PASSED, as_text(judged(data))


def test_a_bundle_of_the_first_version_is_renewed_in_the_new_form() -> None:
    old = (VECTORS / "bundles" / "renewed.asice").read_bytes()
    data = renewed(old, 2, days=40)
    trust = [(VECTORS / "bundles" / "trust.txt").read_text(), SCENE.stamper.root.pem.decode()]
    report = foja.verify(data, trust, AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert roots_in(data) == [FIRST]


def mixed(**forms: bool) -> bytes:
    """Return a bundle that was renewed once, with lists that have media types or not."""
    parts = SCENE.contents().parts()
    for number, (manifest, typed) in enumerate(forms.items()):
        name, stamp = names.seal_names(number)
        files = {each.entry.name: each.sha256 for each in parts[1:]}
        listed = AsicManifest(stamp, files, typed).encode()
        token = SCENE.stamper.token(sha256(listed).digest(), NOW + timedelta(days=number))
        place = {"first": name, "numbered": FIRST, "newest": names.NEWEST_MANIFEST}[manifest]
        parts += [part(place, listed), part(stamp, token)]
    return b"".join(write(parts))


@pytest.mark.parametrize(
    ("forms", "verdict"),
    [
        ({"first": True, "newest": True}, Verdict.TOTAL_PASSED),
        ({"first": False, "newest": True}, Verdict.TOTAL_PASSED),
        ({"first": False, "numbered": False}, Verdict.TOTAL_PASSED),
        ({"first": True, "newest": False}, Verdict.TOTAL_FAILED),
        ({"first": False, "newest": False}, Verdict.TOTAL_FAILED),
        ({"first": True, "numbered": True}, Verdict.TOTAL_FAILED),
        ({"first": False, "numbered": True}, Verdict.TOTAL_FAILED),
    ],
)
def test_each_version_has_one_form(forms: dict[str, bool], verdict: Verdict) -> None:
    report = judged(mixed(**forms))
    assert report.verdict is verdict, as_text(report)
    if verdict is Verdict.TOTAL_FAILED:
        assert report.evidence[0].reason == "NON_CANONICAL"


def test_a_list_has_all_media_types_or_none() -> None:
    listed = assembly.listing(SCENE.contents().parts())
    for broken in (
        listed.replace(b' MimeType="text/plain"', b"", 1),
        listed.replace(b'"text/plain"', b'"text/html"', 1),
        listed.replace(b' MimeType="text/plain"', b' MimeType="text/plain" Rootfile="true"', 1),
    ):
        assert broken != listed
        with pytest.raises(foja.errors.BadBundle) as refused:
            asic.decode(broken)
        assert refused.value.code == "NON_CANONICAL"


@pytest.mark.parametrize("name", ["renewed", "sealed"])
def test_the_frozen_bundles_are_read_and_pass(name: str) -> None:
    report = foja.verify(VECTORS / "asic" / f"{name}.asice", [VECTORS / "asic" / "trust.txt"], AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
