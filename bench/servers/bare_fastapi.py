"""What a team would write without Foja: FastAPI, asyncpg, one insert. No order, no chain, no key."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
from fastapi import FastAPI, Request
from pydantic import BaseModel

TABLE = """create table if not exists event (id bigint generated always as identity primary key,
    stream uuid not null, kind text not null, payload jsonb not null,
    at timestamptz not null default now())"""
INSERT = "insert into event (stream, kind, payload) values ($1, $2, $3) returning id, at"


class NewEvent(BaseModel):
    kind: str
    payload: dict[str, Any]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["BARE_DATABASE_URL"], min_size=8, max_size=8) as pool:
        await pool.execute(TABLE)
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/streams/{stream}/events", status_code=201)
async def append(request: Request, stream: UUID, event: NewEvent) -> dict[str, Any]:
    row = await request.app.state.pool.fetchrow(INSERT, stream, event.kind, json.dumps(event.payload))
    return {"id": row["id"], "at": row["at"], **event.model_dump()}
