"""The domain `system`: the installation's own stream, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.observe.metrics.gauges import gauge_anchors
from foja.errors import SetupFailed, WrongEntity
from foja.pure.models.conversations.events import CONVERSATION

Admin = psycopg.Connection[Any]
ROTATED = '{"key_id": "k", "purpose": "rekor"}'


async def test_the_stream_of_the_installation_records_its_keys_once(app: App, admin: Admin) -> None:
    first = await app.system.rotate_key("ab" * 32, "rekor", public_key="PEM")
    again = await app.system.rotate_key("ab" * 32, "rekor", public_key="PEM")
    assert (first.seq, again.seq, again.replayed) == (0, 0, True)
    [event] = await app.system.events()
    assert (event.entity_id, event.kind, event.payload["purpose"]) == (app.system.id, "key.rotated", "rekor")
    [(installation, tenant)] = admin.execute(
        "select entity_id, tenant from foja.entity where domain = 'system'"
    ).fetchall()
    assert installation == app.system.id
    assert tenant == "system"
    assert admin.execute("select installation_id from foja.installation").fetchone() == (installation,)


@pytest.mark.parametrize("own_id", [True, False])
def test_no_other_stream_and_no_other_tenant_has_its_kinds(app: App, admin: Admin, own_id: bool) -> None:
    entity, tenant = (app.system.id, "default") if own_id else (uuid4(), "system")
    with pytest.raises(psycopg.DatabaseError, match="wrong_entity"):
        admin.execute(
            "select foja.append_event(%s, 'system', 'key.rotated', %s::jsonb, tenant => %s)",
            [entity, ROTATED, tenant],
        )


@pytest.mark.parametrize("own_id", [True, False])
async def test_no_stream_of_another_domain_takes_its_id_or_its_tenant(
    app: App, admin: Admin, own_id: bool
) -> None:
    """The attack of issue 13: a conversation with the id of the installation stopped all ticks."""
    entity, tenant = (app.system.id, "default") if own_id else (uuid4(), "system")
    message = '{"content": "x"}'
    with pytest.raises(psycopg.DatabaseError, match="wrong_entity"):
        admin.execute(
            "select foja.append_event(%s, 'conversation', 'user_message_sent', %s::jsonb, tenant => %s)",
            [entity, message, tenant],
        )
    ledger = app.ledger.of(tenant)
    drafts = [
        ledger.draft(CONVERSATION, each, "user_message_sent", {"content": "x"}) for each in (entity, uuid4())
    ]
    results = await ledger.append_each(drafts)
    assert isinstance(results[0], WrongEntity)
    assert isinstance(results[1], WrongEntity) == (tenant == "system")
    with pytest.raises(WrongEntity):
        await ledger.append(drafts[0])
    with pytest.raises(WrongEntity):
        await Conversation(entity, ledger, app.protect_stream).reserve(1)
    assert not admin.execute("select 1 from foja.entity where entity_id = %s", [entity]).fetchall()
    await app.work(until_idle=True)


async def test_ticks_are_queued_although_the_installation_has_a_stream(app: App, admin: Admin) -> None:
    await app.system.rotate_key("ab" * 32, "rekor")
    admin.execute("insert into foja.tick (name, type, every) values ('renew', 'renew_artifacts', '1 day')")
    await app.work(until_idle=True)
    [(state,)] = admin.execute("select state from foja.job where type = 'renew_artifacts'").fetchall()
    assert state == "succeeded"


def test_the_tenant_of_the_installation_is_reserved(open_app: Callable[..., App]) -> None:
    with pytest.raises(SetupFailed, match="FOJA_TENANT"):
        open_app(tenant="system")


async def test_the_metrics_say_that_a_network_is_held(app: App, admin: Admin) -> None:
    from foja.engine.metrics import ANCHORS_HELD

    admin.execute(
        "update foja.anchor_network set held = 'the daily cap is reached' where network = 'polygon'"
    )
    await gauge_anchors(app.sweeper, app.settings)
    assert ANCHORS_HELD.labels("polygon")._value.get() == 1
    assert ANCHORS_HELD.labels("bitcoin")._value.get() == 0
