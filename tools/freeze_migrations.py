"""Write the migrations of an unreleased version from `schema/`: a folder there is a migration here.

Run it after changing the schema, until the version is released; from then on a change is a new
migration written by hand. `tests/database/test_schema.py` proves that both ways lead to the same database.
"""

from __future__ import annotations

from pathlib import Path

SQL = Path(__file__).parent.parent / "src" / "foja" / "sql"


def freeze() -> None:
    for folder in sorted((SQL / "schema").iterdir()):
        number, _, name = folder.name.partition("_")
        target = SQL / "migrations" / f"{int(number):04}_{name}" / "up.sql"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(file.read_text() for file in sorted(folder.glob("*.sql"))))


if __name__ == "__main__":
    freeze()
