"""Pages for people, in English and Spanish. No inline script, and nothing that was said becomes markup."""

from __future__ import annotations

import json
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from foja.web.conversations.routes import Context
from foja.web.translations import TRANSLATIONS, language

STATIC = files("foja.web") / "static"
TYPES = {"foja.js": "text/javascript", "page.js": "text/javascript", "page.css": "text/css"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LIST_LIMIT = 200
routes = APIRouter(include_in_schema=False)


@routes.get("/")
async def home() -> Response:
    """Lead to the list."""
    return RedirectResponse("/conversations")


@routes.get("/conversations")
async def conversations(ctx: Context, request: Request, lang: str | None = None) -> Response:
    """Show the newest conversations."""
    spoken = language(lang, request.headers.get("accept-language", ""))
    found = await ctx.app.conversations.list(limit=LIST_LIMIT)
    items = "".join(f'<li><a href="/conversations/{each}?lang={spoken}">{each}</a></li>' for each in found)
    words = TRANSLATIONS[spoken]
    return _page("list.html", lang=spoken, title=words["list"], items=items or f"<li>{words['none']}</li>")


@routes.get("/conversations/{conversation_id}")
async def conversation(
    ctx: Context, request: Request, conversation_id: str, lang: str | None = None
) -> Response:
    """Show one conversation, live."""
    talk = await ctx.conversation(conversation_id)
    spoken = language(lang, request.headers.get("accept-language", ""))
    words = TRANSLATIONS[spoken]
    spelled = escape(json.dumps(words, ensure_ascii=False))
    return _page("page.html", lang=spoken, title=words["title"], id=str(talk.id), words=spelled)


@routes.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """Serve one of the page's own files; asked for again, only if it changed."""
    kind = TYPES.get(name)
    if kind is None:
        raise HTTPException(404)
    data = (STATIC / name).read_bytes()
    tag = f'"{sha256(data).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=f"{kind}; charset=utf-8")


def _page(name: str, **values: str) -> Response:
    text = Template((STATIC / name).read_text("utf-8")).substitute(values)
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
        "Vary": "Accept-Language",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(text, headers=headers, media_type="text/html; charset=utf-8")
