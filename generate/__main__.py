"""`python -m generate`: write every generated file. `make generate` does it; a test compares them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from generate import commands, javascript, python_client, settings

ROOT = Path(__file__).parents[1]


def generated() -> Iterator[tuple[Path, str]]:
    """Yield the path of each generated file and its text."""
    source = ROOT / "src/foja"
    yield source / "client/acts.py", python_client.text()
    yield source / "interfaces/cli/parser/acts.py", commands.text()
    yield source / "engine/settings/fields.py", settings.fields()
    page = ROOT / "docs/settings.md"
    yield page, settings.page(page.read_text())
    for name, part in (("foja.js", javascript.methods()), ("foja.d.ts", javascript.types())):
        path = source / "interfaces/web/static" / name
        yield path, javascript.replace_part(path.read_text(), part)


if __name__ == "__main__":
    for path, text in generated():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
