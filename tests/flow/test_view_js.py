"""The view in JavaScript is the view in Python, after every batch, and the same live as reloaded."""

from __future__ import annotations

import random
from typing import Any

from foja.conversations.model.view import ConversationView
from tests.flow.javascript import ask, needs_node
from tests.rules.histories import Item, history

SEEDS = range(120)
RESET: Item = {"seq": None, "kind": "reset", "reason": "epoch"}


@needs_node
def test_after_every_batch_both_show_the_same() -> None:
    feeds = [feed(random.Random(seed)) for seed in SEEDS]
    assert ask("view.mjs", feeds) == [in_python(batches) for batches in feeds]


@needs_node
def test_any_interleaving_ends_in_the_view_of_a_fresh_load() -> None:
    feeds = []
    for seed in SEEDS:
        chance = random.Random(seed)
        talk = history(chance)
        live = [[item] for item in chance.sample(talk.received, len(talk.received))]
        feeds += [live, [list(talk.stored.values())]]
    ends = [views[-1] for views in ask("view.mjs", feeds)]
    assert ends[::2] == ends[1::2]
    assert all(end["settled"] for end in ends)


def feed(chance: random.Random) -> list[list[Item]]:
    """Return what a page hears of a conversation, out of order, twice, and with a reset now and then."""
    talk = history(chance, ended=chance.random() < 0.5)
    received = talk.received + chance.choices(talk.received, k=3)
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
        views.append({"items": view.items(), "settled": view.settled})
    return views
