"""What needs no server: settings, home, keys, disk, limits, extras."""

from __future__ import annotations

import platform
import resource
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from foja import __version__
from foja.engine.identity import LOG_KEY
from foja.engine.private import REPEAT, UNFINISHED, open_bits, unfinished
from foja.engine.settings import Settings, variable
from foja.errors import FojaError
from foja.extras import EXTRAS, is_installed
from foja.interfaces.cli.doctor.finding import Finding, Status, fail, note, ok, shown_space, warn

LEAST_FREE = 0.1
AS_OWNER = "run foja as the user that owns it"
MADE = "it is made at the first start; restore it if there was one"
MAY_BE_READ = "others may have read it: `chmod 600`, and `foja log restart` with a new key if they did"
BY_PROMETHEUS = "let Prometheus do it: `foja alerts rules`; or set FOJA_ALERT_SECONDS=30"
CHANNELS = "the lines of these channels say why; `foja alerts test`"


def shown_settings(settings: Settings) -> dict[str, str]:
    """Return each setting that is set, without what is secret in it."""
    return {
        variable(name): _masked(str(getattr(settings, name)))
        if Settings.model_fields[name].repr is False
        else str(getattr(settings, name))
        for name in sorted(settings.model_fields_set)
        if getattr(settings, name) != ""
    }


def _masked(text: str) -> str:
    """Return which servers or folders a secret setting names, and nothing else of it."""
    return " ".join(_server(word) for word in text.split())


def _server(word: str) -> str:
    try:
        parts = urlsplit(word)
        where = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "***"
    if word == "embedded" or (parts.scheme == "file" and not parts.netloc and not parts.query):
        return word
    return f"{parts.scheme}://{parts.hostname}{where}/…" if parts.scheme and parts.hostname else "***"


def check_machine(settings: Settings) -> list[Finding]:
    """Return what was found on this machine."""
    return [
        _version(),
        *_home(settings.home),
        _key(settings.home / LOG_KEY),
        _disk(settings.home),
        _files(settings),
    ]


def _version() -> Finding:
    extras = ", ".join(filter(is_installed, EXTRAS)) or "none"
    return ok("version", f"foja {__version__}, Python {platform.python_version()}; extras: {extras}")


def _home(home: Path) -> list[Finding]:
    if not home.is_dir():
        return [note("home", f"{home} does not exist", "`foja up` or `foja migrate` creates it")]
    try:
        entries = list(home.iterdir())
    except OSError as error:
        return [fail("home", f"{home}: {error.strerror}", AS_OWNER)]
    if (home / UNFINISHED).exists():
        return [fail("home", unfinished(home), REPEAT)]
    if open_bits(home.resolve()) and entries:
        mode = stat.filemode(home.stat().st_mode)
        return [warn("home", f"{home} is open to other users ({mode})", f"chmod 700 {home}")]
    return [ok("home", str(home))]


def _key(path: Path) -> Finding:
    try:
        if not path.exists():
            return note("log key", f"{path} does not exist", MADE)
        mode = stat.S_IMODE(path.stat().st_mode)
        path.read_bytes()
    except OSError as error:
        return fail("log key", f"{path}: {error.strerror}", AS_OWNER)
    if mode & 0o077:
        return fail("log key", f"{path} is open to other users ({mode:o})", MAY_BE_READ)
    return ok("log key", str(path))


def _disk(home: Path) -> Finding:
    where = next(each for each in (home, *home.parents) if each.is_dir())
    usage = shutil.disk_usage(where)
    found = f"{shown_space(usage.free, usage.total)} are free below {where}"
    if usage.free < LEAST_FREE * usage.total:
        return warn("disk", found, "free space, or move the home to a larger disk")
    return ok("disk", found)


def _files(settings: Settings) -> Finding:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY and limit < settings.max_connections + 512:
        advice = "raise it (LimitNOFILE in a systemd unit), or lower FOJA_MAX_CONNECTIONS"
        return warn("open files", f"{limit:,} for {settings.max_connections:,} connections", advice)
    return ok("open files", "no limit" if limit == resource.RLIM_INFINITY else f"{limit:,}")


def check_alerts(settings: Settings, others: Sequence[Finding]) -> Finding:
    """Return whether someone is told when something goes wrong; `others` say which channels fail."""
    from foja.domains.alerts.assembly import limits_of
    from foja.domains.alerts.channels import open_channels

    try:
        limits_of(settings)
        channels = open_channels(settings)
    except FojaError as error:
        return fail("alerts", str(error), "correct that setting; docs/alerts.md lists them")
    if not settings.alert_seconds:
        return note("alerts", "no process evaluates them (FOJA_ALERT_SECONDS is 0)", BY_PROMETHEUS)
    if not channels:
        return note("alerts", "evaluated by worker and web, but no one is told", "docs/alerts.md says how")
    failing = {each.name for each in others if each.status is Status.FAIL}
    told = [each.name for each in channels if each.part not in failing]
    silent = [each.name for each in channels if each.part in failing]
    every = f"evaluated by worker and web every {settings.alert_seconds:g} s"
    if not silent:
        return ok("alerts", f"{every}, told by {', '.join(told)}")
    found = f"{every}, told by {', '.join(told) or 'no channel'}; nothing is delivered by {', '.join(silent)}"
    return (warn if told else fail)("alerts", found, CHANNELS)
