"""Count the lines of code of a tree: `python -m bench.lines [FOLDER]`.

Python and SQL below `src/foja`, without blank lines, comments, docstrings and what `make generate` writes.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

DOORS = ("web", "cli", "client", "mcp", "operations", "answers", "certificate", "interfaces")
GENERATED = "Written by `make generate`"
_SPACE = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENDMARKER,
}


def python_lines(text: str) -> int:
    """Return how many lines of a module are code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SPACE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def sql_lines(text: str) -> int:
    """Return how many lines of a file are SQL."""
    return sum(bool(line.strip()) and not line.strip().startswith("--") for line in text.splitlines())


def count(tree: Path) -> Counter[str]:
    """Return the lines of code by the folder or module below `src/foja`, or below a floor of it."""
    found: Counter[str] = Counter()
    root = tree / "src" / "foja"
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".py", ".sql") or not path.is_file():
            continue
        text = path.read_text()
        if GENERATED not in text[:200]:
            lines = python_lines(text) if path.suffix == ".py" else sql_lines(text)
            found[path.relative_to(root).parts[0]] += lines
    return found


def main() -> None:
    """Print the lines of each folder, of the doors and of the whole."""
    found = count(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for name, lines in found.most_common():
        print(f"{lines:7,}  {name}")
    print(f"{sum(found[each] for each in DOORS):7,}  the doors ({', '.join(DOORS)})")
    print(f"{found.total():7,}  the whole")


if __name__ == "__main__":
    main()
