"""The texts of the pages: complete in both languages, and used."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest
from jinja2 import nodes

from foja.domains.documents.lists import STATES
from foja.interfaces.web.pages.frame.language import (
    FOLDER,
    LANGUAGES,
    Table,
    Texts,
    choose_language,
    read_texts,
)
from foja.interfaces.web.pages.frame.page import ENVIRONMENT
from foja.interfaces.web.pages.system.alert_rows import TONES
from foja.pure.models.alerts.alert import Severity
from foja.pure.models.alerts.table import ALERTS, GROUPS
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.models.documents.signatures import SignatureStatus
from foja.pure.models.documents.states import EvidenceStatus, Pipeline
from foja.pure.models.jobs.view import STATES as JOB_STATES

TABLES: dict[str, Table] = {
    each.name.removesuffix(".toml"): read_texts(each.name.removesuffix(".toml")) for each in FOLDER.iterdir()
}
TEMPLATES = Path(str(files("foja.interfaces.web") / "templates"))
USERS = {  # which table a template is rendered with
    "conversations": "conversations", "documents": "documents", "galleries": "galleries",
    "system": None, "parts.html": "shared", "base.html": "shared", "error.html": "shared",
}  # fmt: skip
SAME = {"alert": "alerts", "alert_parts": "alerts"}  # templates that are rendered with the table of another


def names(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field}


@pytest.mark.parametrize("table", TABLES)
def test_every_text_is_in_both_languages(table: str) -> None:
    for name, each in TABLES[table].items():
        assert [*each] == [*LANGUAGES], name
        assert all(text.strip() for text in each.values()), name
        assert names(each["en"]) == names(each["es"]), name


def test_no_name_is_in_a_table_and_in_the_shared_one() -> None:
    shared = TABLES["shared"].keys()
    assert {name: sorted(shared & table.keys()) for name, table in TABLES.items() if name != "shared"} == {
        name: [] for name in TABLES if name != "shared"
    }


def table_of(template: str) -> Table:
    folder, _, file = template.partition("/")
    name = USERS.get(folder, folder.removesuffix(".html")) or file.removesuffix(".html")
    return {**TABLES["shared"], **TABLES[SAME.get(name, name)]}


@pytest.mark.parametrize("template", ENVIRONMENT.list_templates())
def test_every_text_that_a_template_names_exists(template: str) -> None:
    tree = ENVIRONMENT.parse((TEMPLATES / template).read_text("utf-8"))
    called = [
        call.args[0].value
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
        and call.node.name == "t"
        and isinstance(call.args[0], nodes.Const)
    ]
    assert [name for name in called if name not in table_of(template)] == []


def test_names_that_others_choose_have_texts() -> None:
    documents, jobs = TABLES["documents"], TABLES["jobs"]
    assert {f"state_{each}" for each in STATES} <= documents.keys()
    assert {f"status_{each}" for each in EvidenceStatus} <= documents.keys()
    assert set(Pipeline) <= documents.keys()
    assert {kind.name for kind in DOCUMENT.kinds} <= documents.keys()
    assert {f"signature_{each}" for each in SignatureStatus} <= documents.keys()
    assert set(JOB_STATES) <= jobs.keys()
    alerts = TABLES["alerts"].keys()
    assert {f"group_{each}" for each in GROUPS} | set(Severity) | set(TONES) <= alerts
    summaries = {name: text["en"] for name, text in TABLES["alert_summaries"].items()}
    assert summaries == {name: alert.summary for name, alert in ALERTS.items()}
    assert not alerts & ALERTS.keys()  # a page is rendered with both tables


def test_the_language_is_that_of_the_address_or_of_the_browser() -> None:
    assert choose_language("es", "en") == "es"
    assert choose_language("fr", "fr, es-PE;q=0.9, en;q=0.8") == "es"
    assert choose_language(None, "es;q=0, en;q=nonsense") == "en"
    with pytest.raises(KeyError):
        Texts("es", "shared")("no such text")
