"""The parser of `foja demo`."""

from __future__ import annotations

from foja.cli.parser.verbs import AddVerb


def add_demo(add: AddVerb) -> None:
    """Add the verb `demo`."""
    add("demo", "demo.demo:demo", "show the ledger at work in a temporary folder", "  foja demo")
