"""A generated transcript: each turn has a question, four parallel tools, their results, an answer."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

TOOLS = 4
ITEMS = 2 + 2 * TOOLS  # events of one turn
WORDS = """
the a of to and in that it was for on with as his at by an from they we say her she or will my one
all would there their what so up out if about who get which go me when make can like time no just
him know take people into year your good some could them see other than then now look only come its
over think also back after use two how our work first well way even new want because any these give
day most us ledger sheet order number invoice supplier warehouse quantity price customer account
balance shipment receipt contract clause signature
""".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its result."""

    id: str
    name: str
    args: dict[str, Any]
    result: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, its tool calls and its answer."""

    number: int
    question: str
    calls: tuple[Call, ...]
    answer: str

    @property
    def size(self) -> int:
        """The bytes of its texts, without any envelope."""
        calls = sum(len(json.dumps(call.args)) + len(call.result) for call in self.calls)
        return len(self.question) + calls + len(self.answer)


def turn(number: int) -> Turn:
    """Return a turn; the same number always gives the same turn."""
    chance = random.Random(number)
    calls = tuple(_call(chance, f"call-{number:06}-{n}") for n in range(TOOLS))
    return Turn(number, _text(chance, 60, 240), calls, _text(chance, 300, 1_200))


def _call(chance: random.Random, call_id: str) -> Call:
    args = {"query": _text(chance, 30, 90), "limit": chance.randrange(5, 50)}
    return Call(call_id, chance.choice(["search", "read_file", "run_query"]), args, _text(chance, 200, 2_000))


def _text(chance: random.Random, low: int, high: int) -> str:
    size = chance.randrange(low, high)
    return " ".join(chance.choices(WORDS, k=size // 4))[:size]
