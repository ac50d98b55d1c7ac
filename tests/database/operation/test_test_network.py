"""Evidence of a test network is marked wherever a document is shown, until it is taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from foja.app import App
from foja.pure.proofs.notices import LOCAL_NOTICE, TEST_NOTICE, remark
from tests.database.documents.anchor_scene import Admin, scene

MARK = f"{LOCAL_NOTICE}; Bitcoin regtest, a {TEST_NOTICE}"


@pytest.mark.parametrize("network", ["regtest", None])
async def test_the_view_and_the_list_mark_a_test_network(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, network: str | None
) -> None:
    async with scene(open_app, admin, monkeypatch, "bitcoin") as stage:
        stage.networks["bitcoin"].more = {"test_network": network} if network else {}
        [document] = await stage.protect(1, "bitcoin")
        await stage.work()
        assert await notes(stage.app) == {LOCAL_NOTICE}, "nothing is confirmed yet"
        await stage.confirm("bitcoin")
        assert await notes(stage.app) == ({MARK} if network else {LOCAL_NOTICE})
        view = await stage.app.documents.view(document)
        assert view.document()["note"] == (MARK if network else LOCAL_NOTICE)
        marks = {str(each.evidence): each.test_network for each in view.evidence}
        assert (marks["bitcoin"], marks["tsa"]) == (network, None)

        stage.networks["bitcoin"].chain.reorganise(keep=False)
        await stage.look("bitcoin")
        assert stage.payload(document, "anchor.failed")["failure_code"] == "reorged"
        assert await notes(stage.app) == {LOCAL_NOTICE}


async def notes(app: App) -> set[str | None]:
    """Return what the list, the states and the view remark about all documents."""
    listed = await app.documents.list()
    states = await app.documents.states([each.id for each in listed])
    views = [await app.documents.view(each.id) for each in listed]
    shown = [each.note for each in listed] + [each.note for each in states.values()]
    return {*shown, *(each.note for each in views)}


def test_a_remark_says_everything_that_must_be_shown() -> None:
    assert remark(None, None) is None
    assert remark(False, LOCAL_NOTICE) is None
    assert remark(None, LOCAL_NOTICE, "signet") == f"{LOCAL_NOTICE}; Bitcoin signet, a {TEST_NOTICE}"
    assert remark(False, None, "testnet") == f"Bitcoin testnet, a {TEST_NOTICE}"
