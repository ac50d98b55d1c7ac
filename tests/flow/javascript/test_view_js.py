"""The view in JavaScript equals the view in Python after every batch, live and reloaded."""

from __future__ import annotations

import random
from typing import Any

from foja.pure.models.conversations.pairs import group
from foja.pure.models.conversations.view import ConversationView
from tests.flow.javascript.javascript import needs_node, run_script
from tests.rules.histories import Item, history

SEEDS = range(120)
RESET: Item = {"seq": None, "kind": "reset", "reason": "epoch"}


@needs_node
def test_after_every_batch_both_show_the_same() -> None:
    """Also the same pairs of requests and results."""
    feeds = [feed(random.Random(seed)) for seed in SEEDS]
    assert run_script("view.mjs", feeds) == [in_python(batches) for batches in feeds]


@needs_node
def test_any_interleaving_ends_in_the_view_of_a_fresh_load() -> None:
    feeds = []
    for seed in SEEDS:
        chance = random.Random(seed)
        written = history(chance)
        live = [[item] for item in chance.sample(written.sent, len(written.sent))]
        feeds += [live, [list(written.stored.values())]]
    ends = [views[-1] for views in run_script("view.mjs", feeds)]
    assert ends[::2] == ends[1::2]
    assert all(end["settled"] for end in ends)


def feed(chance: random.Random) -> list[list[Item]]:
    """Return the items that a page receives: out of order, repeated, and sometimes with a reset."""
    written = history(chance, ended=chance.random() < 0.5)
    received = written.sent + chance.choices(written.sent, k=3)
    if chance.random() < 0.7:
        chance.shuffle(received)
    if chance.random() < 0.2:
        received.insert(chance.randrange(len(received)), RESET)
    batches = []
    while received:
        size = chance.randint(1, 5)
        batches.append(received[:size])
        received = received[size:]
    return batches


def in_python(batches: list[list[Item]]) -> list[dict[str, Any]]:
    views, view = [], ConversationView()
    for batch in batches:
        view = view.add(*batch)
        items = view.items()
        views.append({"items": items, "groups": group(items), "settled": view.settled})
    return views
