"""`foja restore`: a backup becomes an installation in an empty home and an empty database."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from foja.domains.backup.reader import BackupReader, Checked, check_backup, check_home
from foja.domains.registration import prepare
from foja.engine.blobs.store import open_store
from foja.engine.embedded.servers import database
from foja.engine.settings import Settings
from foja.errors import SetupFailed
from foja.files import open_file
from foja.interfaces.cli.installation import create_app, read_settings
from foja.interfaces.cli.output import print_result, progress_bar


async def restore(arguments: Namespace) -> None:
    """Check the backup, restore it, and open the result once."""
    source: Path = arguments.file
    size = _size(source)
    with progress_bar("check") as progress, open_file(source) as file:
        checked = check_backup(file, size, progress)
    if arguments.check:
        _print_checked(arguments, source, checked)
        return
    settings = read_settings(arguments)
    settings = settings.model_copy(update={"log_name": settings.log_name or checked.description.log_name})
    check_home(settings, checked)
    async with database(settings) as url:
        reader = BackupReader(settings, open_store(settings.store_url), checked)
        with progress_bar("restore") as progress, open_file(source) as file:
            await reader.restore(url, file, size, progress)
        await prepare(url)  # later schema steps, and the roles of all sources
        log = await _open_log(settings, restart=not arguments.continue_log)
        reader.finish()
    _print_restored(arguments, settings, checked, log)


def _size(source: Path) -> int:
    if not source.is_file():
        raise SetupFailed(f"{source} is not a file; name a file that `foja backup` wrote")
    return source.stat().st_size


async def _open_log(settings: Settings, *, restart: bool) -> str:
    """Open the installation, which checks that its parts belong together. Return the name of its log."""
    async with create_app(settings, restoring=True) as app:
        return (await app.sequencer.restart() if restart else await app.sequencer.current()).name


def _print_checked(arguments: Namespace, source: Path, checked: Checked) -> None:
    found = checked.description
    print_result(
        arguments,
        {"file": str(source), "digest": checked.digest, "installation": found.installation, "at": found.at},
        f"{source} is whole: installation {found.installation} at {found.at:%Y-%m-%d %H:%M:%S} UTC",
        f"written by foja {found.foja}; digest {checked.digest}",
    )


def _print_restored(arguments: Namespace, settings: Settings, checked: Checked, log: str) -> None:
    found = checked.description
    result = {
        "home": str(settings.home),
        "installation": found.installation,
        "at": found.at,
        "digest": checked.digest,
        "log": log,
        "log_continued": arguments.continue_log,
    }
    moment = f"{found.at:%Y-%m-%d %H:%M:%S} UTC"
    lines = [
        f"restored installation {found.installation} as of {moment} to {settings.home}",
        f"the log {'continues' if arguments.continue_log else 'begins again and names the old one'}: {log}",
    ]
    if found.log_name:
        lines.append(f"FOJA_LOG_NAME was {found.log_name}; set it again, it is part of the name of the log")
    print_result(arguments, result, *lines, "next: `foja fsck`, then `foja up`")
