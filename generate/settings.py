"""The arguments of `foja.connect` and the tables of docs/settings.md, from the groups of settings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from foja.engine.settings import Settings, groups, variable
from generate.source import NOTE, Imports, formatted, python_type, replace_part

BEGIN, END = "<!-- from src/foja/engine/settings/groups.py, by `make generate` -->", "<!-- end -->"
GROUPS = [each for each in Settings.__bases__ if each.__module__ == groups.__name__]
_HELP = re.compile(r"((?:^    #: .*\n)+)^    (\w+): ", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


class Setting(NamedTuple):
    """A setting as it is declared."""

    name: str
    type: Any
    default: str
    help: str


def fields() -> str:
    """Return the module with the arguments of `foja.connect`."""
    imports = Imports({"typing": {"TypedDict"}})
    explained, lines = "", ""
    for group in GROUPS:
        explained += f"\n    {_heading(group)[0]}:\n"
        for each in _settings(group):
            if each.name == "domains":  # an argument is the domains themselves, not their names
                continue
            explained += _explained(each)
            accepted = str | PathLike[str] if each.type is Path else each.type
            lines += f"    {each.name}: {python_type(accepted | None, imports)}\n"
    return formatted(
        f'''"""The settings as arguments of `foja.connect`. {NOTE}"""

from __future__ import annotations

{imports.text()}


class SettingsFields(TypedDict, total=False):
    """Every setting. One that is None comes from its environment variable, or has its default.
{explained}    """

{lines}'''
    )


def _explained(setting: Setting) -> str:
    words = _LINK.sub(lambda link: link[1], f"{setting.name}: {setting.help}")
    lines = textwrap.wrap(words, 102, subsequent_indent=" " * 4, break_on_hyphens=False)
    return "".join(f"        {line}\n" for line in lines)


def page(text: str) -> str:
    """Return docs/settings.md with its tables replaced."""
    return replace_part(text, tables(), BEGIN, END)


def tables() -> str:
    """Return a section for each group, with its table."""
    return "\n".join(_section(group) for group in GROUPS)


def _section(group: type) -> str:
    title, intro = _heading(group)
    rows = "".join(
        f"| `{variable(each.name)}` | {each.default} | {each.help} |\n" for each in _settings(group)
    )
    words = f"{intro}\n\n" if intro else ""
    return f"## {title}\n\n{words}| setting | default | meaning |\n|---|---|---|\n{rows}"


def _heading(group: type) -> tuple[str, str]:
    """Return the title of a group and its first words."""
    title, _, intro = (inspect.getdoc(group) or "").partition("\n\n")
    return title.removesuffix("."), " ".join(intro.split())


def _settings(group: type) -> Iterator[Setting]:
    found = {name: text for text, name in _HELP.findall(inspect.getsource(group))}
    for name in group.__annotations__:
        field = Settings.model_fields[name]
        words = " ".join(line.strip().removeprefix("#: ") for line in found[name].splitlines())
        yield Setting(name, field.annotation, _shown(field), words)


def _shown(field: FieldInfo) -> str:
    """Return the default of a setting, as a cell of a table."""
    if field.default_factory:
        return "a folder of the user"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    if isinstance(field.default, int | float):
        return f"`{field.default:g}`"
    return f"`{field.default}`" if field.default else "empty"
