"""Who calls a tool, and what a tool may use. Set for each request; tools take no key and no tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, BinaryIO

from foja.interfaces.mcp.files import Root
from foja.pure.judge.trust_parser import read
from foja.pure.models.access.principal import Principal
from foja.tenant import TenantApp
from foja.verification import verify

# Judges a bundle with these roots and returns the report as a document.
Judge = Callable[[BinaryIO, Sequence[str]], Awaitable[Mapping[str, Any]]]


async def judge_here(file: BinaryIO, trust: Sequence[str]) -> Mapping[str, Any]:
    """Judge in this process: the files are the user's own. Trust is content, never the path of a file."""
    return (await asyncio.to_thread(verify, file, read(trust))).document()


@dataclass(frozen=True, slots=True)
class Agent:
    """A caller of tools: its rights, its tenant's app, and the folder of files that it may use."""

    principal: Principal
    app: TenantApp
    root: Root | None = None  # None: over HTTP no tool takes a path
    judge: Judge = judge_here


_acting: ContextVar[Agent] = ContextVar("acting")


@contextmanager
def acting(agent: Agent) -> Iterator[None]:
    """Let the tools that are called inside act for this agent."""
    token = _acting.set(agent)
    try:
        yield
    finally:
        _acting.reset(token)


def agent_acting() -> Agent:
    """Return the agent that calls."""
    return _acting.get()
