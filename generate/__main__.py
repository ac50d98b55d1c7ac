"""`python -m generate`: write every generated file. `make generate` does it; a test compares them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from generate import commands, javascript, python_client, scopes, settings
from generate.source import replace_part

ROOT = Path(__file__).parents[1]


def generated() -> Iterator[tuple[Path, str]]:
    """Yield the path of each generated file and its text."""
    source = ROOT / "src/foja"
    yield source / "client/acts.py", python_client.text()
    yield source / "interfaces/cli/parser/acts.py", commands.text()
    yield source / "engine/settings/fields.py", settings.fields()
    for name, page in (("settings", settings.page), ("access", scopes.page)):
        path = ROOT / f"docs/{name}.md"
        yield path, page(path.read_text())
    for name, part in (("foja.js", javascript.methods()), ("foja.d.ts", javascript.types())):
        path = source / "interfaces/web/static" / name
        yield path, replace_part(path.read_text(), part, javascript.BEGIN, javascript.END)


if __name__ == "__main__":
    for path, text in generated():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
