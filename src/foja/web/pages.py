"""Web pages in English and Spanish. They have no inline scripts, and no event content becomes markup."""

from __future__ import annotations

import json
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from foja.web.conversations.routes import Context
from foja.web.translations import TRANSLATIONS, choose_language

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
    """Redirect to the list."""
    return RedirectResponse("/conversations")


@routes.get("/conversations")
async def conversations(ctx: Context, request: Request, lang: str | None = None) -> Response:
    """Show the newest conversations."""
    chosen = choose_language(lang, request.headers.get("accept-language", ""))
    found = await ctx.app.conversations.list(limit=LIST_LIMIT)
    items = "".join(f'<li><a href="/conversations/{each}?lang={chosen}">{each}</a></li>' for each in found)
    texts = TRANSLATIONS[chosen]
    return _page("list.html", lang=chosen, title=texts["list"], items=items or f"<li>{texts['none']}</li>")


@routes.get("/conversations/{conversation_id}")
async def conversation(
    ctx: Context, request: Request, conversation_id: str, lang: str | None = None
) -> Response:
    """Show one conversation, live."""
    opened = await ctx.conversation(conversation_id)
    chosen = choose_language(lang, request.headers.get("accept-language", ""))
    texts = TRANSLATIONS[chosen]
    encoded = escape(json.dumps(texts, ensure_ascii=False))
    return _page("page.html", lang=chosen, title=texts["title"], id=str(opened.id), translations=encoded)


@routes.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """Serve a static file, or 304 if the client has the same version."""
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
