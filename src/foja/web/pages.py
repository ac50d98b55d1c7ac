"""Web pages in English and Spanish. They have no inline scripts, and no event content becomes markup."""

from __future__ import annotations

import json
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from textwrap import shorten
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from foja.conversations.model.text import message_text
from foja.conversations.service import Summary
from foja.web.caller import Reader
from foja.web.conversations.named import NamedConversation
from foja.web.translations import TRANSLATIONS, choose_language

STATIC = files("foja.web") / "static"
TYPES = {"foja.js": "text/javascript", "page.js": "text/javascript", "page.css": "text/css"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LIST_LIMIT = 100
EXCERPT = 140
routes = APIRouter(include_in_schema=False)


async def language_of(request: Request, lang: str | None = None) -> str:
    """Return the language of the page that a request asks for."""
    return choose_language(lang, request.headers.get("accept-language", ""))


Language = Annotated[str, Depends(language_of)]


@routes.get("/")
async def home() -> Response:
    """Redirect to the list."""
    return RedirectResponse("/conversations")


@routes.get("/conversations")
async def conversations(caller: Reader, language: Language, before: UUID | None = None) -> Response:
    """Show the newest conversations with their last messages."""
    found = await caller.app.conversations.summaries(before=before, limit=LIST_LIMIT)
    texts = TRANSLATIONS[language]
    items = "".join(_item(each, language) for each in found) or f"<li>{texts['none']}</li>"
    more = ""
    if len(found) == LIST_LIMIT:
        more = f'<a href="/conversations?before={found[-1].id}&amp;lang={language}">{texts["older"]}</a>'
    return render_page("list.html", lang=language, title=texts["list"], items=items, more=more)


def _item(summary: Summary, language: str) -> str:
    """Return an entry of the list: last message, who wrote it, how many events, when."""
    texts = TRANSLATIONS[language]
    if summary.payload is None:
        said = f"<em>{texts['empty']}</em>"
    else:
        who = summary.actor or texts[str(summary.kind)]
        text = shorten(message_text(summary.payload["content"])[: EXCERPT * 4], EXCERPT, placeholder=" …")
        said = f"<b>{escape(who)}</b> {escape(text)}"
    time = f"<time>{summary.last_at:%Y-%m-%d %H:%M} UTC</time>" if summary.last_at else ""
    about = f"<small><code>{summary.id}</code> {texts['events']}: {summary.events} {time}</small>"
    return f'<li><a href="/conversations/{summary.id}?lang={language}"><p>{said}</p>{about}</a></li>'


@routes.get("/conversations/{conversation_id}")
async def page(caller: Reader, conversation: NamedConversation, language: Language) -> Response:
    """Show one conversation, live."""
    texts = TRANSLATIONS[language]
    encoded = escape(json.dumps(texts, ensure_ascii=False))
    hidden = "hidden" if (await conversation.state()).next_seq else ""
    values = {"title": texts["title"], "empty": texts["empty"], "hidden": hidden, "translations": encoded}
    return render_page("page.html", lang=language, id=str(conversation.id), **values)


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


def render_page(name: str, **values: str) -> Response:
    """Return a page from its template. The values are markup: escape what others wrote."""
    text = Template((STATIC / name).read_text("utf-8")).substitute(values)
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
        "Vary": "Accept-Language",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(text, headers=headers, media_type="text/html; charset=utf-8")
