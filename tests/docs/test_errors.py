"""Every error has a code that never changes, and a row in docs/errors.md."""

from __future__ import annotations

import inspect
import re

import pytest

from foja import errors
from foja.engine.driver.refusals import OWN_CODES, refusal
from foja.interfaces.answers.problem import STATUSES
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "errors.md"
CLASSES = {
    name: each
    for name, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, errors.FojaError) and not name.startswith("_")
}
# Programs compare these: a code may be added here, never changed or removed.
CODES = {
    "foja_error",
    "refused",
    "unknown_kind",
    "wrong_source",
    "not_allowed",
    "not_authenticated",
    "bad_payload",
    "not_canonical",
    "too_large",
    "wrong_entity",
    "wrong_expected_seq",
    "idempotency_conflict",
    "not_erasable",
    "bad_reservation",
    "slot_voided",
    "slot_filled",
    "unknown_entity",
    "unknown_approval",
    "unknown_product",
    "unknown_webhook",
    "unknown_image",
    "bad_place",
    "product_deleted",
    "wrong_supplier",
    "gallery_full",
    "attempts_spent",
    "wrong_isolation",
    "unknown_job",
    "bad_domain",
    "unknown_domain",
    "out_of_turn",
    "precondition_failed",
    "document_final",
    "document_closed",
    "cannot_produce",
    "cursor_lost",
    "image_refused",
    "unavailable",
    "schema_differs",
    "ledger_unavailable",
    "not_covered",
    "unstamped",
    "busy",
    "decoder_failed",
    "tampered",
    "bad_bundle",
    "malformed",
    "log_halted",
    "stream_broken",
    "object_missing",
    "object_changed",
    "setup_failed",
    "migration_failed",
    "role_missing",
    "embedded_failed",
}
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (yes|no) \| (\d+) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
BRANCH = re.compile(r"^([│ ]*)[├└]── ([\w, ]+)$", re.MULTILINE)


def test_codes_are_unique_and_stable() -> None:
    assert sorted(each.code for each in CLASSES.values()) == sorted(CODES)


def test_the_class_of_a_code_is_named_alike() -> None:
    assert {name: each.code.replace("_", "") for name, each in CLASSES.items()} == {
        name: name.lower() for name in CLASSES
    }


def test_every_error_is_in_the_table_as_it_is() -> None:
    found = {name: (code, again, int(status)) for code, name, again, status in ROW.findall(PAGE.read_text())}
    assert found == {
        name: (each.code, "yes" if each.retryable else "no", status_of(each))
        for name, each in CLASSES.items()
    }


def test_the_tree_in_the_docstring_is_the_hierarchy() -> None:
    path = ["FojaError"]
    drawn: dict[str, str] = {}
    for indent, names in BRANCH.findall(errors.__doc__ or ""):
        del path[len(indent) // 4 + 1 :]
        drawn |= dict.fromkeys(names.split(", "), path[-1])
        path.append(names)
    bases = {name: each.__bases__[-1].__name__ for name, each in CLASSES.items()}
    assert {**drawn, "FojaError": "Exception"} == bases


def test_only_what_decided_nothing_is_retryable() -> None:
    unavailable = {name for name, each in CLASSES.items() if issubclass(each, errors.Unavailable)}
    assert {name for name, each in CLASSES.items() if each.retryable} == unavailable
    assert "NotCovered" in unavailable
    assert not issubclass(errors.ObjectChanged, errors.ObjectMissing)


@pytest.mark.parametrize(
    "kind", [errors.BadBundle, errors.Unstamped, errors.PreconditionFailed, errors.ImageRefused]
)
def test_a_more_precise_code_stays_on_the_instance(kind: type[errors.BadBundle]) -> None:
    error = kind("MORE_PRECISE", "the message")
    assert (error.code, str(error)) == ("MORE_PRECISE", "the message")
    assert kind.code in CODES


def test_a_code_of_the_database_is_the_code_of_its_error() -> None:
    assert not OWN_CODES.keys() & CODES
    for code, each in errors.BY_CODE.items():
        if not issubclass(each, errors._Coded):
            found = refusal(f"{code}: detail")
            assert (type(found), found.code) == (each, code)
    precise = refusal("precondition_failed:missing_request: no request")
    assert (precise.code, precise.retryable) == ("precondition_failed:missing_request", False)
    assert isinstance(precise, errors.PreconditionFailed)


def status_of(kind: type[errors.FojaError]) -> int:
    return next((status for each, status in STATUSES if issubclass(kind, each)), 500)
