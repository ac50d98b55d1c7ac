"""The settings: `FOJA_*` in the environment, or arguments of `connect`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from foja.engine.settings import groups
from foja.errors import SetupFailed

if TYPE_CHECKING:
    from typing import Unpack

    from foja.engine.settings.fields import SettingsFields

PREFIX = "FOJA_"
FOR_TESTS = "FOJA_TEST_"  # variables of the test suite
log = logging.getLogger("foja.settings")


class _Environment(PydanticBaseSettingsSource):
    """The variables `FOJA_*`, in any case. Each is one plain value, so a lookup is enough.

    The sources of pydantic-settings ask for each field how nested it is: 5 ms at every start.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one variable. The class requires this method; `__call__` does not use it."""
        return self().get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the settings that the environment names."""
        found = {name.lower(): value for name, value in os.environ.items()}
        names = {name: variable(name).lower() for name in self.settings_cls.model_fields}
        return {name: found[each] for name, each in names.items() if each in found}


class Settings(
    BaseSettings,
    groups.Installation,
    groups.Cosigners,
    groups.Appends,
    groups.Protection,
    groups.Orphans,
    groups.Webhooks,
    groups.Galleries,
    groups.Anchors,
    groups.Nodes,
    groups.Images,
    groups.Logs,
    groups.Alerts,
    groups.Web,
    groups.Access,
):
    """All settings, as their groups declare them. The defaults need nothing installed."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **given: Unpack[SettingsFields]) -> None:
        super().__init__(**given)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_named: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments, then the environment; no file."""
        return init_settings, _Environment(settings_cls)

    @property
    def own_tenant(self) -> str:
        """The tenant whose streams this process writes."""
        return self.tenant or "default"

    @property
    def upload_bytes(self) -> int:
        """The most bytes of one upload."""
        return int(self.upload_max_mb * 1e6)

    @property
    def store_url(self) -> str:
        """The URL of the store of objects and log tiles."""
        return self.storage_url or (self.home / "store").as_uri()


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name}".upper()


def close_name(name: str, known: Iterable[str]) -> str:
    """Return the advice about a name that is no setting: the closest one, or where all are listed."""
    from difflib import get_close_matches  # late: few commands need it

    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else "docs/settings.md lists the settings"


def warn_about_unknown_names() -> None:
    """Log a warning for each `FOJA_*` variable that is not a setting: it is probably misspelt."""
    known = [*map(variable, Settings.model_fields)]
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in known and not name.startswith(FOR_TESTS):
            advice = close_name(name.upper(), known)
            log.warning("%s is not a setting and is ignored; %s", name, advice)


def load(**given: Unpack[SettingsFields]) -> Settings:
    """Return the settings of the environment, overridden by the arguments."""
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(map(str, first["loc"]))
        raise SetupFailed(f"{variable(name)} is not valid: {first['msg']}; correct it") from None
    return settings.model_copy(update={"home": settings.home.expanduser().absolute()})
