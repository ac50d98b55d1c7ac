"""The page of alerts: the whole table with its state and runbooks, for the operators of the installation."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest

from foja.app import App
from foja.pure.models.access.principal import Principal, Scope
from foja.pure.models.alerts.table import ALERTS
from tests.flow.client.client import served
from tests.flow.pages.test_forms import filled
from tests.flow.pages.visitor import act_as


def states(page: str) -> dict[str, str]:
    """Return the state of each alert that a page shows."""
    return dict(re.findall(r'data-rule="(\w+)" data-state="(\w+)"', page))


async def test_every_alert_has_its_state_value_limit_and_runbook(open_app: Callable[..., App]) -> None:
    async with filled(open_app) as (app, _, client):
        page = (await client.get("/alerts")).text
        assert states(page).keys() == ALERTS.keys()
        assert set(states(page).values()) == {"unevaluated", "elsewhere"}
        assert "The alerts are not evaluated" in page
        await app.alerts.evaluate()
        page = unescape((await client.get("/alerts")).text)
        assert states(page)["jobs_dead"] == "firing"
        assert states(page)["log_halted"] == "quiet"
        assert states(page)["scrape_absent"] == "elsewhere"
        assert "A job of the type run_errand died and its stream does not say so." in page
        assert re.search(r'data-rule="jobs_dead".*?since \d+ \w+ \d{4}', page, re.DOTALL)
        assert re.search(r'data-rule="log_lag".*?more than 60 s', page, re.DOTALL)
        assert re.search(r'data-rule="disk_space".*?[\d.]+ %.*?less than 10 %', page, re.DOTALL)
        for name in ALERTS:
            assert f'href="/alerts/{name}"' in page
        assert "Alerts that fire: 1." in (await client.get("/")).text
        spanish = unescape((await client.get("/alerts", headers={"Accept-Language": "es"})).text)
        assert "Una tarea del tipo run_errand murió y su secuencia no lo dice." in spanish
        assert not any(alert.summary in spanish for alert in ALERTS.values())


async def test_a_runbook_is_a_page_and_its_links_lead_to_others(app: App) -> None:
    async with served(app) as client:
        for name in ALERTS:
            page = await client.get(f"/alerts/{name}")
            assert page.status_code == 200
            assert all(heading in page.text for heading in ("What it means", "How to see it", "What to do"))
            for other in re.findall(r'href="/alerts/(\w+)"', page.text):
                assert other in ALERTS
        spanish = await client.get("/alerts/log_lag", headers={"Accept-Language": "es"})
        assert "Qué significa" in spanish.text
        assert (await client.get("/alerts/none_of_them")).status_code == 404


async def test_alerts_that_are_off_say_so_and_published_runbooks_are_linked(
    open_app: Callable[..., App],
) -> None:
    async with open_app(alert_limits="log_lag=off", runbook_url="https://wiki.example") as app:
        await app.alerts.evaluate()
        async with served(app) as client:
            assert states((await client.get("/alerts")).text)["log_lag"] == "off"
            page = (await client.get("/alerts/log_lag")).text
            assert 'href="https://wiki.example/log_lag.md"' in page


async def test_an_operator_of_one_tenant_sees_no_alert_of_the_installation(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    act_as(Principal("default", "key:ops", frozenset({Scope.READ, Scope.OPERATE})), monkeypatch)
    async with filled(open_app) as (app, _, client):
        await app.alerts.evaluate()
        page = (await client.get("/alerts")).text
        assert states(page) == {}
        assert 'data-alert="dead_jobs"' in page  # what concerns the tenant
        assert "shown to its operators only" in page
        assert (await client.get("/alerts/jobs_dead")).status_code == 403
