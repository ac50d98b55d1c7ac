"""A real OpenID Connect provider: npm `oidc-provider`, configured by the short script `oidc.mjs`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from re import search
from typing import Any

import httpx

from tests.counterparties.npm import installed
from tests.counterparties.ports import free_port

PACKAGE = "oidc-provider@9"
SCRIPT = Path(__file__).with_name("oidc.mjs")
CLIENT, AUDIENCE = "foja", "https://foja.example/api"


@dataclass
class OidcProvider:
    """A running provider. `keys` is the name of the key pair that signs."""

    url: str
    redirect: str
    folder: Path
    claims: dict[str, Any]
    process: subprocess.Popen[str] | None = None

    def start(self, *, keys: str = "first") -> None:
        """Start it, with the keys of this name; it answers when this returns."""
        shutil.copy(SCRIPT, self.folder / SCRIPT.name)  # where node finds its package
        configuration = {
            "url": self.url,
            "redirect": self.redirect,
            "client": CLIENT,
            "audience": AUDIENCE,
            "claims": self.claims,
            "keys": keys,
        }
        self.process = subprocess.Popen(
            ["node", SCRIPT.name, json.dumps(configuration)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def stop(self) -> None:
        """End it."""
        if self.process:
            self.process.kill()
            self.process.communicate(timeout=30)
            self.process = None


@contextmanager
def running_provider(redirect: str, **claims: Any) -> Iterator[OidcProvider]:
    """Start a provider whose only person has these claims."""
    provider = OidcProvider(f"http://127.0.0.1:{free_port()}", redirect, installed(PACKAGE), claims)
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


async def consent(address: str, *, person: str = "ana") -> str:
    """Log in at the provider and agree, as a person in a browser; return the address it leads back to."""
    async with httpx.AsyncClient(timeout=60) as browser:
        answer = await browser.get(address)
        while True:
            if answer.has_redirect_location:
                following = answer.headers["location"]
                if "/login/callback" in following:
                    return str(following)
                answer = await browser.get(answer.url.join(following))
                continue
            action = search(r'<form[^>]* action="([^"]+)"', answer.text)
            assert action, (answer.status_code, answer.text[:300])
            prompt = search(r'name="prompt" value="([^"]+)"', answer.text)
            fields = {"prompt": prompt[1] if prompt else "", "login": person, "password": "x"}
            answer = await browser.post(unescape(action[1]), data=fields)
