"""The reading order in JavaScript: it passes the vectors, and equals Python for random items."""

from __future__ import annotations

import json
import random

from foja.domains.conversations import order
from tests.flow.javascript.javascript import MODULE, needs_node, run_script
from tests.vectors.order_cases import VECTORS, drawn

CASES = json.loads(VECTORS.read_text())
ODD: list[object] = [
    None,
    0,
    1,
    1.5,
    -1,
    10**15,
    "1",
    "",
    "é\U0001f600\uffee",
    True,
    [],
    {"b": 1, "a": [2.5, 1e21]},
    "0001-01-01T00:00:00Z",
]


@needs_node
def test_every_vector() -> None:
    answers = run_script("order.mjs", [case["items"] for case in CASES])
    wrong = [
        case["name"]
        for case, answer in zip(CASES, answers, strict=True)
        if answer != [case["items"][place] for place in case["expected"]]
    ]
    assert wrong == []


@needs_node
def test_no_permutation_changes_it_and_python_agrees() -> None:
    draw = random.Random(20260102)
    lists = [drawn(seed) for seed in range(1000, 1300)] + [strange(draw) for _ in range(300)]
    shuffled = [draw.sample(items, len(items)) for items in lists]
    assert run_script("order.mjs", shuffled) == [order(items) for items in lists]


def strange(draw: random.Random) -> list[dict[str, object]]:
    names = ("seq", "at", "id", "turn", "block_index", "event_index", "payload")
    return [
        {name: draw.choice(ODD) for name in draw.sample(names, draw.randint(0, 7))}
        for _ in range(draw.randint(2, 9))
    ]


def test_the_package_publishes_the_module_with_its_types_and_nothing_else() -> None:
    package = json.loads(MODULE.with_name("package.json").read_text())
    assert package["type"] == "module"
    assert package["files"] == [MODULE.name, "foja.d.ts"]
    assert package["exports"] == {"types": "./foja.d.ts", "default": f"./{MODULE.name}"}
    assert "dependencies" not in package
    assert "import " not in MODULE.read_text().replace("@import ", "")
