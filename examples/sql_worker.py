"""A worker in a process of its own that speaks SQL and nothing of ours: it timestamps documents.

    python examples/sql_worker.py

The worker claims `run_tsa` jobs, asks a timestamp authority over HTTP, lets `openssl` check what it
answered, and records the token. It could be written in any language. Around it, to have something to
do: a document to protect, and Foja's own local authority.
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
    """Do what there is to do."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set role foja_run_tsa")  # in earnest, a login that was granted this role
        while job := connection.execute(CLAIM).fetchone():
            job_id, token, asked = job
            try:
                events = [{"kind": "tsa.confirmed", "payload": stamp(asked, authority)}]
                ended = connection.execute(COMPLETE, [job_id, token, json.dumps(events)])
            except (OSError, subprocess.CalledProcessError) as error:
                ended = connection.execute(FAIL, [job_id, token, str(error)])
            print(f"run_tsa: {ended.fetchall()[0][0]}", flush=True)


def stamp(asked: dict[str, Any], authority: str) -> dict[str, Any]:
    """Return a timestamp of the witness, checked; raise if there is none."""
    digest = asked["witness_hash"]
    with tempfile.TemporaryDirectory() as folder:
        request, reply, root, token = (Path(folder, name) for name in ("q.tsq", "r.tsr", "root.pem", "t.der"))
        openssl("-query", "-digest", digest, "-sha256", "-cert", "-out", request)
        headers = {"Content-Type": "application/timestamp-query"}
        reply.write_bytes(fetch(Request(authority, request.read_bytes(), headers)).read())
        root.write_bytes(fetch(f"{authority}/root.pem").read())  # in earnest, a root you already trust
        openssl("-verify", "-queryfile", request, "-in", reply, "-CAfile", root)
        openssl("-reply", "-in", reply, "-token_out", "-out", token)
        said = openssl("-reply", "-in", reply, "-text")
        return {
            "witness_hash": digest,
            "attempt": asked["attempt"],
            "token_b64": base64.b64encode(token.read_bytes()).decode(),
            "gen_time": when(said).isoformat(),
        }


def openssl(*words: object) -> str:
    """Run `openssl ts`; what it does not accept is an error."""
    return subprocess.run(
        ["openssl", "ts", *map(str, words)], capture_output=True, text=True, check=True
    ).stdout


def when(said: str) -> datetime:
    """Return the time in a token, from openssl's words about it."""
    found = TIME.search(said)
    assert found, said
    moment = datetime.strptime(f"{found[1]} {found[3]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    return moment.replace(microsecond=round(float(found[2] or 0) * 1_000_000))


async def main() -> None:
    """Protect a document, and leave its timestamp to the worker."""
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
    """Run `foja tsa serve` and lend its address."""
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
