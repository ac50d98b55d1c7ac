"""The Model Context Protocol with the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import foja
from foja.app import App
from foja.interfaces.mcp.agent import Agent, acting
from foja.interfaces.mcp.files import Root
from foja.interfaces.mcp.server import build_server
from foja.pure.models.access.principal import ALL, Principal, Scope
from tests.flow.client.client import SAY, served
from tests.worker_task import working

COMMAND = ["-m", "foja", "mcp"]
WAIT = 60


class Tools:
    """Calls tools and returns what they answer, or the text of their refusal."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, /, **arguments: Any) -> Any:
        answer = await self.client.call_tool(name, arguments)
        text = "".join(getattr(part, "text", "") for part in answer.content)
        assert not answer.is_error, text
        return answer.structured_content or json.loads(text)

    async def refused(self, name: str, /, **arguments: Any) -> str:
        answer = await self.client.call_tool(name, arguments)
        assert answer.is_error, answer
        return "".join(getattr(part, "text", "") for part in answer.content)

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def stdio(root: Path, home: Path, url: str, *options: str) -> AsyncIterator[Tools]:
    environment = {**os.environ, "FOJA_DATABASE_URL": url, "FOJA_HOME": str(home)}
    arguments = [*COMMAND, "--root", str(root), *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(stdio_client(server)) as client:
        yield Tools(client)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "inner").mkdir(parents=True)
    (folder / "contract.txt").write_text("the contract")
    (tmp_path / "outside.txt").write_text("a secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "good.txt").symlink_to(folder / "contract.txt")
    return folder


async def test_an_agent_protects_a_file_and_reads_its_verdict_over_stdio(
    root: Path, tmp_path: Path, database_url: str
) -> None:
    async with stdio(root, tmp_path / "home", database_url, "--as", "agent-7") as tools:
        made = await tools.call("protect_file", path="contract.txt", wait_seconds=WAIT)
        assert made["sha256"] == sha256(b"the contract").hexdigest()
        assert (made["name"], made["new"]) == ("contract.txt", True)
        status = await tools.call("document_status", document_id=made["id"], wait_seconds=WAIT)
        assert status["state"] == "final"
        assert status["explain"]
        verdict = await tools.call("verify_document", document_id=made["id"])
        assert verdict["verdict"] == "TOTAL_PASSED", verdict
        assert verdict["explain"] == status["explain"]
        saved = await tools.call("fetch_bundle", document_id=made["id"], save_as="inner/contract.zip")
        assert saved["size"] == (root / "inner" / "contract.zip").stat().st_size
        again = await tools.call("verify_file", path="inner/contract.zip")
        assert again["verdict"] == "TOTAL_PASSED"
        untrusted = await tools.call("verify_file", path="inner/contract.zip", trust=[])
        assert untrusted["verdict"] == "INDETERMINATE", "nothing inside a bundle is trusted"
        opened = await tools.call("open_conversation")
        talk = opened["conversation_id"]
        kind, payload = "agent_message_sent", {"content": "I protected contract.txt"}
        event = await tools.call("append_event", conversation_id=talk, kind=kind, payload=payload)
        assert (event["seq"], event["actor"]) == (0, "agent-7")
        read = await tools.call("read_conversation", conversation_id=talk)
        assert [each["payload"] for each in read["events"]] == [payload]
        proof = await proven(tools, talk)
        assert proof["verdict"] == "TOTAL_PASSED"
    report = foja.verify(proof["event"].encode(), [proof["log_key"]], proofs=[proof["proof"].encode()])
    assert report.verdict == "TOTAL_PASSED"
    assert proof["file_name"] == f"{talk}-0.foja-proof"
    assert foja.verify(b64decode(proof["file"]), [proof["log_key"]]).verdict == "TOTAL_PASSED"


async def proven(tools: Tools, talk: str) -> Any:
    """Return a proof as soon as a checkpoint covers the event."""
    async with asyncio.timeout(WAIT):
        while True:
            answer = await tools.client.call_tool("prove_event", {"conversation_id": talk, "seq": 0})
            if not answer.is_error:
                return answer.structured_content
            assert "not_covered" in str(answer.content)
            await asyncio.sleep(0.1)


async def test_no_path_leads_out_of_the_root(root: Path, tmp_path: Path, database_url: str) -> None:
    async with stdio(root, tmp_path / "home", database_url, "--no-worker") as tools:
        for path in (
            "../outside.txt",
            str(tmp_path / "outside.txt"),
            "link.txt",
            "up/outside.txt",
            "inner/../../outside.txt",
            "/etc/passwd",
            "missing.txt",
            "inner",
            "",
            "a\0b",
        ):
            for tool in ("protect_file", "verify_file"):
                said = await tools.refused(tool, path=path)
                assert ("secret" in said, "(code: refused)" in said) == (False, True), path
        assert (await tools.call("protect_file", path="good.txt"))["sha256"], "a link inside is a file inside"
        made = await tools.call("protect_file", path="contract.txt")
        for path in ("../new.zip", "up/new.zip", "contract.txt", str(tmp_path / "new.zip")):
            await tools.refused("fetch_bundle", document_id=made["id"], save_as=path)
        # Trust was read from any file of the machine: the refusal showed the first line.
        outside = str(tmp_path / "outside.txt")
        assert "secret" not in await tools.refused("verify_file", path="contract.txt", trust=[outside])
        for refused in (outside, "/etc/passwd"):
            said = await tools.refused("verify_content", content_base64="YQ==", trust=[refused])
            assert ("secret" in said, "root:" in said, "not a trust item" in said) == (False, False, True)
    assert not (tmp_path / "new.zip").exists()
    assert (root / "contract.txt").read_text() == "the contract"


def test_a_link_that_replaces_a_file_while_it_is_opened_is_noticed(root: Path, monkeypatch: Any) -> None:
    folder, real_open = Root.at(root), os.open
    (root / "inner" / "x.txt").write_text("inside")

    def swapped(path: Any, flags: int, *more: Any) -> int:
        if str(path).endswith("x.txt"):
            (root / "inner" / "x.txt").unlink()
            (root / "inner").rmdir()
            (root / "inner").symlink_to(root.parent)
            (root.parent / "x.txt").write_text("outside")
        return real_open(path, flags, *more)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(foja.errors.Refused), folder.reading("inner/x.txt"):
        pytest.fail("opened")


@pytest.fixture
async def url(app: App) -> AsyncIterator[str]:
    async with served(app) as client:
        yield str(client.base_url)


async def test_the_same_over_http_with_a_worker_elsewhere(app: App, url: str) -> None:
    async with working(app), Client(f"{url}/mcp") as client:
        tools = Tools(client)
        assert not await tools.names() & {"protect_file", "verify_file"}, "no tool takes a path"
        content = b64encode(b"of an agent").decode()
        made = await tools.call("protect_content", content_base64=content, name="x", wait_seconds=WAIT)
        digest = await tools.call("protect_digest", sha256="ab" * 32, wait_seconds=WAIT)
        assert (made["state"], digest["state"]) == ("final", "final")
        assert (await tools.call("verify_document", document_id=made["id"]))["verdict"] == "TOTAL_PASSED"
        bundle = (await tools.call("fetch_bundle", document_id=made["id"]))["content_base64"]
        assert foja.verify(b64decode(bundle), app.trust).verdict == "TOTAL_PASSED"
        judged = await tools.call("verify_content", content_base64=bundle)
        assert judged["verdict"] == "TOTAL_PASSED"
        talk = (await tools.call("open_conversation"))["conversation_id"]
        said = {"kind": SAY, "payload": {"content": "hi"}, "idempotency_key": "k"}
        first = await tools.call("append_event", conversation_id=talk, **said)
        again = await tools.call("append_event", conversation_id=talk, **said)
        assert (first["seq"], again["replayed"]) == (0, True)
        assert (await proven(tools, talk))["verdict"] == "TOTAL_PASSED"
        assert "the root" not in await tools.refused("fetch_bundle", document_id=made["id"], save_as="x")


@asynccontextmanager
async def with_key(url: str, key: str | None) -> AsyncIterator[Tools]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield Tools(client)


async def test_keys_scopes_and_tenants_over_http(app: App, url: str) -> None:
    writer = await app.access.keys.create("acme", ["read", "write"])
    reader = await app.access.keys.create("acme", ["read"])
    other = await app.access.keys.create("default", ["read", "write"])
    async with with_key(url, writer.text) as tools:
        talk = (await tools.call("open_conversation"))["conversation_id"]
        said = {"conversation_id": talk, "kind": SAY, "payload": {"content": "of acme"}}
        assert (await tools.call("append_event", **said))["actor"] == f"key:{writer.id}"
        made = await tools.call("protect_digest", sha256="cd" * 32)
    async with with_key(url, reader.text) as tools:
        assert (await tools.call("read_conversation", conversation_id=talk))["events"][0]["seq"] == 0
        assert (await tools.call("document_status", document_id=made["id"]))["id"] == made["id"]
        assert "scope `write`" in await tools.refused("append_event", **said)
        assert "scope `write`" in await tools.refused("protect_digest", sha256="cd" * 32)
    async with with_key(url, other.text) as tools:
        assert "of acme" not in str(
            await tools.client.call_tool("read_conversation", {"conversation_id": talk})
        )
        assert "unknown_entity" in await tools.refused("document_status", document_id=made["id"])
    async with httpx.AsyncClient(base_url=url) as http:
        for headers in ({}, {"Authorization": "Bearer nonsense"}):
            refused = await http.post("/mcp", json={}, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (401, "not_authenticated")


async def test_refusals_say_what_to_do(url: str) -> None:
    async with Client(f"{url}/mcp") as client:
        tools = Tools(client)
        talk = (await tools.call("open_conversation"))["conversation_id"]
        wrong = await tools.refused("append_event", conversation_id=talk, kind="nonsense", payload={})
        assert "code: unknown_kind" in wrong
        assert "code: unknown_entity" in await tools.refused("document_status", document_id="no-id")
        assert "Base64" in await tools.refused("protect_content", content_base64="%%%")
        large = b64encode(bytes(2 * 1_048_576 + 1)).decode()
        assert "digest" in await tools.refused("protect_content", content_base64=large)
        kinds = await tools.call("conversation_kinds")
        assert {"content": "string|array"} in [each["required"] for each in kinds["kinds"]]


async def test_arguments_that_do_not_fit_are_refused_in_our_words(url: str) -> None:
    """A missing argument was answered with an error of pydantic, and the server's version was empty."""
    async with Client(f"{url}/mcp") as client:
        wrong = await Tools(client).refused("prove_event", seq=-1)
        assert "not valid arguments of prove_event" in wrong
        assert "conversation_id: field required; seq: input should be greater than or equal to 0" in wrong
        assert "(code: bad_payload)" in wrong
        assert "pydantic" not in wrong


async def test_an_argument_that_no_tool_has_is_refused(url: str) -> None:
    """It was ignored: a misspelt `expected_seq` guarded nothing, `action` instead of `act` only listed."""
    async with Client(f"{url}/mcp") as client:
        wrong = await Tools(client).refused("approvals", conversation_id=str(uuid4()), action="request")
        assert wrong.startswith("not valid arguments of approvals (action: there is no such argument)")
        assert "(code: bad_payload)" in wrong
        assert client.server_info is not None
        assert client.server_info.version == foja.__version__


async def test_tools_are_described(url: str) -> None:
    async with Client(f"{url}/mcp") as client:
        for tool in (await client.list_tools()).tools:
            assert tool.description
            assert tool.description.endswith((".", "s"))
            for name, field in tool.input_schema.get("properties", {}).items():
                assert field.get("description"), f"{tool.name}.{name}"
            assert tool.annotations is not None


async def test_only_post_is_answered(url: str) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/mcp")).status_code == 405
        assert (await client.delete("/mcp")).status_code == 405
        assert (await client.post("/mcp", content=b"{")).status_code == 400
        assert (await client.post("/mcp", headers={"host": "evil.example"}, json={})).status_code == 421


async def test_scopes_and_tenants_hold(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append(SAY, {"content": "of default"})

    async def tools_of(tenant: str, *scopes: Scope) -> tuple[str, str]:
        principal = Principal(tenant, "key:x", frozenset(scopes))
        with acting(Agent(principal, app.tenant(tenant))):
            async with Client(build_server(with_files=False)) as client:
                tools = Tools(client)
                read = await client.call_tool("read_conversation", {"conversation_id": str(talk.id)})
                write = await tools.client.call_tool(
                    "append_event",
                    {"conversation_id": str(talk.id), "kind": SAY, "payload": {"content": "x"}},
                )
                return str(read.content), str(write.content)

    read, write = await tools_of("default", Scope.READ)
    assert "of default" in read
    assert "scope `write`" in write
    read, write = await tools_of("default", Scope.OPERATE)
    assert "scope `read`" in read
    read, write = await tools_of("acme", *ALL)
    assert "of default" not in read
    assert "wrong_entity" in write or "unknown_entity" in write
    assert len(await talk.events()) == 1


async def test_an_agent_requests_lists_and_decides_approvals(app: App) -> None:
    """No tool said what waits for a decision, requested one or decided. The scopes are those of HTTP."""
    talk = str((await app.conversations.open()).id)
    mail = {"conversation_id": talk, "approval_id": "mail-1"}
    call = {"tool_name": "send_mail", "tool_args": {"to": "ben"}}
    with acting(Agent(Principal("default", "key:ana", frozenset({Scope.WRITE})), app)):
        async with Client(build_server(with_files=False)) as client:
            tools = Tools(client)
            assert "give tool_name" in await tools.refused("approvals", act="request", **mail)
            asked = await tools.call("approvals", act="request", **mail, **call)
            assert (asked["state"], asked["tool_args"]) == ("requested", {"to": "ben"})
            assert "scope `approve`" in await tools.refused("approvals", act="approve", **mail)
    with acting(Agent(Principal("default", "key:ben", frozenset({Scope.READ, Scope.APPROVE})), app)):
        async with Client(build_server(with_files=False)) as client:
            tools = Tools(client)
            [waiting] = (await tools.call("approvals", conversation_id=talk))["waiting"]
            assert (waiting["id"], waiting["tool_name"]) == ("mail-1", "send_mail")
            assert "give approval_id" in await tools.refused("approvals", conversation_id=talk, act="deny")
            decided = await tools.call("approvals", act="approve", reason="it is fine", **mail)
            assert (decided["state"], decided["decided_by"], decided["mine"]) == ("approved", "key:ben", True)
            assert (await tools.call("approvals", conversation_id=talk))["waiting"] == []
