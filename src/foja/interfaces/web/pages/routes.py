"""The routes of all pages."""

from __future__ import annotations

from fastapi import FastAPI

from foja.interfaces.web.pages import conversations, design, galleries, jobs, overview, verify
from foja.interfaces.web.pages.documents import detail, downloads, index
from foja.interfaces.web.pages.frame import static
from foja.interfaces.web.pages.system import access, alerts, anchors, hygiene, ledger
from foja.interfaces.web.routers import add_routes

WORK = (overview, index, downloads, detail, verify, conversations, galleries)
OPERATIONS = (jobs, anchors, hygiene, ledger, alerts, access, design)


def add_pages(web: FastAPI) -> None:
    """Add the pages and their static files to an application."""
    for module in (static, *WORK, *OPERATIONS):
        add_routes(web, module.routes)
