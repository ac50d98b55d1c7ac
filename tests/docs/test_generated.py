"""What `make generate` writes is what operations and settings say."""

from __future__ import annotations

from generate.__main__ import generated


def test_generated_files_are_up_to_date() -> None:
    for path, text in generated():
        assert path.read_text() == text, f"{path.name} differs from what is declared: run `make generate`"
