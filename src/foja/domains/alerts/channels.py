"""Where notices go: a webhook, and e-mail."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial
from typing import Final, Protocol

from foja.engine.faults import Report, Reports, unreported
from foja.engine.remote.mail import MailServer, greet, parse_server, send_mail
from foja.engine.remote.notice import knock, post_notice
from foja.engine.settings import Settings
from foja.errors import SetupFailed, Unavailable
from foja.pure.models.alerts.notice import Message

SEND_SECONDS = 10.0
MAIL: Final = "mail"  # the parts of an installation that the channels are
ALERT_WEBHOOK: Final = "alert_webhook"


class Channel(Protocol):
    """A way to tell someone."""

    @property
    def name(self) -> str: ...
    @property
    def part(self) -> str:
        """What health calls it."""

    @property
    def report(self) -> Report:
        """Takes what came of each use."""

    async def send(self, notice: Message) -> None:
        """Send it, or raise `Unavailable`. The same notice may be sent again after a lost answer."""

    async def reach(self) -> None:
        """Reach its server and send nothing, or raise `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Posts notices to an address."""

    url: str = field(repr=False)
    report: Report = unreported
    name: str = "webhook"
    part: str = ALERT_WEBHOOK

    async def send(self, notice: Message) -> None:
        """Post the notice."""
        await _told(
            self.report,
            post_notice(self.url, notice.document(), str(notice.id), seconds=SEND_SECONDS),
        )

    async def reach(self) -> None:
        """Connect to its server; only a notice could tell more."""
        await knock(self.url, seconds=SEND_SECONDS)


@dataclass(frozen=True, slots=True)
class Mail:
    """Sends notices by e-mail."""

    server: MailServer
    sender: str
    to: str
    report: Report = unreported
    name: str = "mail"
    part: str = MAIL

    async def send(self, notice: Message) -> None:
        """Send the notice."""
        await _told(self.report, send_mail(self.server, self.message(notice), seconds=SEND_SECONDS))

    async def reach(self) -> None:
        """Log in to the mail server."""
        await greet(self.server, seconds=SEND_SECONDS)

    def message(self, notice: Message) -> EmailMessage:
        """Return the e-mail. Its id is that of the notice, so that a repeated one is recognised."""
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = notice.subject, self.sender, self.to
        message["Date"] = format_datetime(notice.at)
        message["Message-ID"] = f"<{notice.id}@{notice.installation}.foja>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(notice.text)
        return message


async def _told(report: Report, sending: Awaitable[None]) -> None:
    try:
        await sending
    except Unavailable as error:
        report(error)
        raise
    report(None)


def open_channels(settings: Settings, report: Reports = unreported) -> list[Channel]:
    """Return the channels that are set, or raise `SetupFailed`."""
    channels: list[Channel] = []
    if settings.alert_webhook_url:
        if not settings.alert_webhook_url.startswith(("http://", "https://")):
            raise SetupFailed("FOJA_ALERT_WEBHOOK_URL is not valid; write https://host/path")
        channels.append(Webhook(settings.alert_webhook_url, partial(report, ALERT_WEBHOOK)))
    if settings.alert_mail_to:
        if not settings.smtp_url:
            raise SetupFailed("FOJA_ALERT_MAIL_TO needs a mail server; set FOJA_SMTP_URL")
        sender = settings.alert_mail_from or settings.alert_mail_to.partition(",")[0].strip()
        server = parse_server(settings.smtp_url)
        channels.append(Mail(server, sender, settings.alert_mail_to, partial(report, MAIL)))
    return channels
