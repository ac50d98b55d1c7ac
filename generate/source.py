"""Types and values as source text."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

NOTE = "Written by `make generate`; do not edit."


@dataclass
class Imports:
    """The names that a text uses, by their modules."""

    names: dict[str, set[str]] = field(default_factory=dict)

    def add(self, kind: type) -> str:
        """Return the name of a class, which is imported."""
        if kind.__module__ != "builtins":
            self.names.setdefault(kind.__module__, set()).add(kind.__name__)
        return kind.__name__

    def text(self) -> str:
        """Return the statements."""
        return "\n".join(
            f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.names.items())
        )


def python_type(hint: Any, imports: Imports) -> str:
    """Return a type as Python writes it, without its limits."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        also = ["bytes"] if bytes in inner[1:] else []
        return " | ".join([*also, python_type(inner[0], imports)])
    if hint is Any:
        imports.names.setdefault("typing", set()).add("Any")
        return "Any"
    if hint is NoneType:
        return "None"
    if origin in (Union, UnionType):
        return " | ".join(python_type(each, imports) for each in inner)
    if origin is Literal:
        imports.names.setdefault("typing", set()).add("Literal")
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin is not None:
        return f"{imports.add(origin)}[{', '.join(python_type(each, imports) for each in inner)}]"
    return imports.add(hint)


def formatted(text: str) -> str:
    """Return Python as `make fmt` leaves it."""
    for arguments in (("check", "--select=I,F401", "--fix-only", "--quiet"), ("format", "--quiet")):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename=src/foja/acts.py", "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def replace_part(text: str, part: str, begin: str, end: str) -> str:
    """Return a file with its generated part replaced."""
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{part}\n{end}{rest.partition(end)[2]}"


def javascript_name(name: str) -> str:
    """Return a name in camel case."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
