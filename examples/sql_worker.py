"""A worker in its own process that uses only SQL, not the foja package: it timestamps documents.

    python examples/sql_worker.py

The worker claims `run_tsa` jobs, requests a timestamp over HTTP, verifies the reply with `openssl`
and records the token. It could be written in any language. The rest of the example gives it work: a
document to protect, and Foja's local timestamp authority.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import psycopg

TIME = re.compile(r"Time stamp: (\w+ +\d+ [\d:]+)(\.\d+)? (\d{4}) GMT")
CLAIM = "select job_id, lease_token, payload from foja.claim_jobs_v1('run_tsa', 1, 'example')"
COMPLETE = "select foja.complete_job_v1(%s, %s, %s)"
FAIL = "select foja.fail_job_v1(%s, %s, %s)"
EXECUTOR = ["protect_document_v2"]
fetch = build_opener(ProxyHandler({})).open


def work(database_url: str, authority: str) -> None:
    """Process all queued jobs."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set role foja_run_tsa")  # in production, use a login with this role
        while job := connection.execute(CLAIM).fetchone():
            job_id, token, payload = job
            try:
                events = [{"kind": "tsa.confirmed", "payload": stamp(payload, authority)}]
                ended = connection.execute(COMPLETE, [job_id, token, json.dumps(events)])
            except (OSError, subprocess.CalledProcessError) as error:
                ended = connection.execute(FAIL, [job_id, token, str(error)])
            print(f"run_tsa: {ended.fetchall()[0][0]}", flush=True)


def stamp(payload: dict[str, Any], authority: str) -> dict[str, Any]:
    """Return a verified timestamp of the witness. Raise if there is none."""
    digest = payload["witness_hash"]
    with tempfile.TemporaryDirectory() as folder:
        request, reply, root, token = (Path(folder, name) for name in ("q.tsq", "r.tsr", "root.pem", "t.der"))
        openssl("-query", "-digest", digest, "-sha256", "-cert", "-out", request)
        headers = {"Content-Type": "application/timestamp-query"}
        reply.write_bytes(fetch(Request(authority, request.read_bytes(), headers)).read())
        root.write_bytes(fetch(f"{authority}/root.pem").read())  # in production, use a trusted root
        openssl("-verify", "-queryfile", request, "-in", reply, "-CAfile", root)
        openssl("-reply", "-in", reply, "-token_out", "-out", token)
        text = openssl("-reply", "-in", reply, "-text")
        return {
            "witness_hash": digest,
            "attempt": payload["attempt"],
            "token_b64": base64.b64encode(token.read_bytes()).decode(),
            "gen_time": parse_time(text).isoformat(),
        }


def openssl(*arguments: object) -> str:
    """Run `openssl ts` and return its output. Raise if it fails."""
    return subprocess.run(
        ["openssl", "ts", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


def parse_time(text: str) -> datetime:
    """Return the time of a token from the output of openssl."""
    found = TIME.search(text)
    assert found, text
    moment = datetime.strptime(f"{found[1]} {found[3]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    return moment.replace(microsecond=round(float(found[2] or 0) * 1_000_000))


async def main() -> None:
    """Protect a document; the worker timestamps it."""
    import foja

    async with foja.connect() as app:
        document = await app.documents.add_digest(hashlib.sha256(b"a contract").hexdigest())
        await app.documents.protect(document.id, required_evidence=["tsa"])
        await app.work(until_idle=True, only=EXECUTOR)
        print((await app.documents.view(document.id)).pipeline)
        with local_authority() as address:
            command = [sys.executable, __file__, app.settings.database_url, address]
            await asyncio.to_thread(subprocess.run, command, check=True)
        await app.work(until_idle=True, only=EXECUTOR)
        print((await app.documents.view(document.id)).state)


@contextmanager
def local_authority() -> Iterator[str]:
    """Run `foja tsa serve` and yield its address."""
    foja = Path(sys.executable).with_name("foja")
    with subprocess.Popen([foja, "tsa", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        found = re.search(r"http://[\w.:]+", server.stdout.readline())
        assert found
        try:
            yield found[0]
        finally:
            server.terminate()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(*sys.argv[1:])
    else:
        asyncio.run(main())
