"""Names of servers and failures that messages may show: no path, no query, no content of a wrong file."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from foja.engine.anchors.bitcoin import BitcoinTerms
from foja.engine.anchors.rekor.log import log_key
from foja.engine.remote.http import reason_of, server_name
from foja.engine.settings import load
from foja.errors import SetupFailed

SECRET = "0x" + "ac" * 32
URL = f"https://user:{SECRET}@example.org:8443/{SECRET}?token={SECRET}"


def test_a_server_is_shown_without_its_secrets() -> None:
    assert server_name(URL) == "https://example.org:8443"
    assert server_name("http://a:b:c") == "a server whose URL cannot be read"
    assert BitcoinTerms((URL, "http://b.example/")).by_name == {
        "https://example.org:8443": URL,
        "http://b.example": "http://b.example/",
    }


def test_a_failure_is_shown_without_the_url() -> None:
    request = httpx.Request("GET", URL)
    response = httpx.Response(403, request=request)
    with pytest.raises(httpx.HTTPStatusError) as failed:
        response.raise_for_status()
    assert SECRET in str(failed.value)
    assert reason_of(failed.value) == "HTTP status 403"


def test_a_wrong_file_as_the_key_of_a_log_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "k").write_text(SECRET)
    with pytest.raises(SetupFailed) as refused:
        log_key(str(tmp_path / "k"), "https://log.example")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["polygon_daily_cap", "anchor_watch_seconds", "polygon_max_fee_gwei", "anchor_batch_seconds"]
)
@pytest.mark.parametrize("value", ["inf", "nan", "-1"])
def test_a_setting_that_is_no_amount_is_refused_by_name(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"FOJA_{name.upper()}", value)
    with pytest.raises(SetupFailed, match=f"FOJA_{name.upper()} is not valid"):
        load()
