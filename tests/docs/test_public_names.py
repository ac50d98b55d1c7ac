"""What `import foja` offers: typed, documented, and imported on first use."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from os import PathLike
from pathlib import Path

import pytest

import foja
from foja.engine.settings import Settings
from foja.engine.settings.fields import SettingsFields

NAMES = {
    "connect",
    "verify",
    "App",
    "Domain",
    "Kind",
    "Job",
    "NewJob",
    "Done",
    "Retry",
    "GiveUp",
    "Snooze",
    "Event",
    "Conversation",
    "Document",
    "Evidence",
    "Report",
    "Verdict",
    "errors",
}
HEAVY = {"pydantic", "psycopg", "cryptography", "obstore", "orjson", "httpx", "asyncio", "foja.app"}


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_the_public_names() -> None:
    assert len(foja.__all__) == len(set(foja.__all__))
    assert set(foja.__all__) >= NAMES
    assert set(dir(foja)) >= set(foja.__all__)


@pytest.mark.parametrize("name", sorted(foja.__all__))
def test_a_public_name_can_be_imported_and_is_documented(name: str) -> None:
    found = getattr(foja, name)
    assert inspect.getdoc(found)
    run(f"from foja import {name}")


def test_a_star_import_brings_all_of_them() -> None:
    brought = run("from foja import *; print(*[name for name in dir() if not name.startswith('_')])").split()
    assert set(brought) == set(foja.__all__)


def test_importing_foja_imports_nothing_heavy() -> None:
    loaded = set(run("import sys, foja; print(*sys.modules)").split())
    assert not loaded & HEAVY
    assert {each for each in loaded if each.startswith("foja")} == {"foja", "foja.errors", "foja.extras"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        foja.conect  # type: ignore[attr-defined]  # noqa: B018


def test_connect_has_every_setting_as_a_typed_keyword() -> None:
    hints = typing.get_type_hints(SettingsFields)
    assert hints.keys() == Settings.model_fields.keys() - {"domains"}, "values here, names in FOJA_DOMAINS"
    for name, hint in hints.items():
        annotation = Settings.model_fields[name].annotation
        accepted = str | PathLike[str] if annotation is Path else annotation
        assert hint == typing.Optional[accepted], name  # noqa: UP045
    assert not SettingsFields.__required_keys__
    arguments = inspect.signature(foja.connect).parameters
    assert arguments["domains"].annotation == "Sequence[Domain] | None"
    assert arguments["settings"].annotation == "Unpack[SettingsFields]"


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOJA_HOME", str(tmp_path))
    monkeypatch.setenv("FOJA_TENANT", "theirs")
    monkeypatch.setenv("FOJA_REDIS_URL", "redis://theirs")
    settings = foja.connect(tenant=None, redis_url="", writers=5).settings
    assert (settings.home, settings.tenant, settings.redis_url) == (tmp_path, "theirs", "")
    assert (settings.writers, settings.connections) == (5, Settings.model_fields["connections"].default)


def test_a_wrong_value_is_refused_by_its_name() -> None:
    with pytest.raises(foja.errors.SetupFailed, match="FOJA_WRITERS"):
        foja.connect(writers=0)
