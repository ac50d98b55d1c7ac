"""The routes of all pages."""

from __future__ import annotations

from foja.interfaces.web.pages import conversations, design, galleries, jobs, overview, verify
from foja.interfaces.web.pages.documents import detail, downloads, index
from foja.interfaces.web.pages.system import access, alerts, anchors, hygiene, ledger
from foja.interfaces.web.reference import page

WORK = (overview, index, downloads, detail, verify, conversations, galleries)
OPERATIONS = (jobs, anchors, hygiene, ledger, alerts, access, design, page)
PAGES = tuple(route for module in (*WORK, *OPERATIONS) for route in module.PAGES)
