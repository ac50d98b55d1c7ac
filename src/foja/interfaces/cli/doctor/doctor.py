"""`foja doctor`: print what is set, what answers, what would fail, and what to do."""

from __future__ import annotations

from argparse import Namespace

from foja.engine.ledger.cosigners.configuration import read_cosigners, read_quorum
from foja.engine.settings import Settings
from foja.errors import FojaError, redact
from foja.interfaces.cli.doctor.database import check_database
from foja.interfaces.cli.doctor.finding import Finding, Status, fail, worst
from foja.interfaces.cli.doctor.machine import check_alerts, check_machine, shown_settings
from foja.interfaces.cli.doctor.servers import check_servers
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_result

WIDTH = 11


async def doctor(arguments: Namespace) -> int:
    """Print the findings; return 1 if something fails."""
    settings = read_settings(arguments)
    findings = check_machine(settings)
    findings += await check_database(settings)
    findings += await check_servers(settings, offline=arguments.offline)
    findings += [check_alerts(settings, findings), *_check_cosigners(settings)]
    status, shown = worst(findings), shown_settings(settings)
    document = {
        "status": status,
        "settings": shown,
        "findings": [finding.document() for finding in findings],
    }
    lines = [f"{name}={value}" for name, value in shown.items()] or ["no setting is set: all defaults"]
    lines += ["", *(line for finding in findings for line in finding.lines(WIDTH)), "", _verdict(findings)]
    print_result(arguments, document, *(redact(line) for line in lines))
    return 1 if status is Status.FAIL else 0


def _check_cosigners(settings: Settings) -> list[Finding]:
    try:
        read_quorum(settings, read_cosigners(settings))
    except FojaError as error:
        return [fail("cosigners", str(error), "correct FOJA_COSIGNERS or FOJA_COSIGNER_POLICY")]
    return []


def _verdict(findings: list[Finding]) -> str:
    count = {status: sum(each.status is status for each in findings) for status in Status}
    if count[Status.FAIL]:
        return f"{count[Status.FAIL]} of {len(findings)} checks fail; the arrows say what to do"
    if count[Status.WARN]:
        return f"everything works; {count[Status.WARN]} of {len(findings)} checks need attention"
    return "everything works"
