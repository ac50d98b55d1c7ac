"""Send an e-mail over SMTP. A password is sent over TLS only."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import partial
from urllib.parse import unquote, urlsplit

from foja.engine.tasks import run_apart
from foja.errors import SetupFailed, Unavailable, redact

PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server: `smtp://` with STARTTLS where it is offered, or `smtps://`."""

    host: str
    port: int
    tls: bool
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """Its address without a password."""
        return f"{self.host}:{self.port}"


def parse_server(url: str) -> MailServer:
    """Return the server of an address, or raise `SetupFailed`."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
        if not parts.hostname:
            raise ValueError
    except (KeyError, ValueError):
        raise SetupFailed(
            "FOJA_SMTP_URL is not valid; write smtp://user:password@host:587 or smtps://host"
        ) from None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port, parts.scheme == "smtps", user, password)


async def send_mail(server: MailServer, message: EmailMessage, *, seconds: float) -> None:
    """Hand a message over, or raise `Unavailable`."""
    try:
        await run_apart(partial(_send, server, message, seconds))
    except (smtplib.SMTPException, OSError) as error:
        reason = redact(" ".join(str(error).split())) or type(error).__name__
        raise Unavailable(f"the mail server {server.name} did not take the message ({reason})") from None


async def greet(server: MailServer, *, seconds: float) -> None:
    """Log in and send nothing, or raise `Unavailable`."""
    try:
        await run_apart(lambda: _session(server, seconds).quit())
    except (smtplib.SMTPException, OSError) as error:
        reason = redact(" ".join(str(error).split())) or type(error).__name__
        raise Unavailable(f"the mail server {server.name} cannot be used ({reason})") from None


def _send(server: MailServer, message: EmailMessage, seconds: float) -> None:
    with _session(server, seconds) as session:
        refused = session.send_message(message)
        if refused:
            raise smtplib.SMTPRecipientsRefused(refused)


def _session(server: MailServer, seconds: float) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.tls:
        session: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=seconds, context=context)
    else:
        session = smtplib.SMTP(server.host, server.port, timeout=seconds)
    try:
        session.ehlo()
        if not server.tls and session.has_extn("starttls"):
            session.starttls(context=context)
            session.ehlo()
        elif server.user and not server.tls:
            raise smtplib.SMTPNotSupportedError("it offers no TLS, and a password is not sent without")
        if server.user:
            session.login(server.user, server.password)
    except BaseException:
        session.close()
        raise
    return session
