"""A gallery folded from its events: gapless from 0, whatever happened, and whatever was erased."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from foja.pure.models.images.events import Fact
from foja.pure.models.images.gallery import Image, fold

START = datetime(2025, 8, 15, tzinfo=UTC)
DIGEST = "ab" * 32
OTHER = "cd" * 32
GONE = UUID(int=0)


@dataclass
class Play:
    """Events of a gallery, and its order by other means: plain operations on a list."""

    facts: list[Fact] = field(default_factory=list)
    order: list[UUID] = field(default_factory=list)

    def say(self, kind: str, payload: dict[str, Any] | None, key: str | None = None) -> Fact:
        seq = len(self.facts)
        fact = Fact(seq, UUID(int=seq + 1), kind, START + timedelta(seconds=seq), key, payload)
        self.facts.append(fact)
        return fact

    def add(self, **more: Any) -> UUID:
        image = self.say("image.added", {"object": DIGEST, **more}).id
        self.order.append(image)
        return image

    def move(self, image: UUID, to: int) -> None:
        self.say("image.moved", {"image_id": str(image), "to": to})
        if image in self.order and 0 <= to < len(self.order):
            self.order.remove(image)
            self.order.insert(to, image)

    def remove(self, image: UUID) -> None:
        self.say("image.removed", {"image_id": str(image), "reason": "sold"})
        if image in self.order:
            self.order.remove(image)

    def about(self, kind: str, image: UUID, **more: Any) -> None:
        self.say(kind, {"image_id": str(image), **more}, f"{image}:{len(self.facts)}")

    def erase(self, seq: int) -> None:
        self.facts[seq] = self.facts[seq]._replace(payload=None)

    def one(self) -> Image:
        [image] = fold(self.facts)
        return image


@st.composite
def plays(draw: st.DrawFn) -> Play:
    play = Play()
    for _ in range(draw(st.integers(0, 40))):
        image = draw(st.sampled_from([*play.order, GONE]))
        match draw(st.sampled_from(["add", "add", "move", "main", "remove", "replace", "describe", "other"])):
            case "add":
                play.add()
            case "move":
                play.move(image, draw(st.integers(-1, len(play.order))))
            case "main":
                play.move(image, 0)
            case "remove":
                play.remove(image)
            case "replace":
                play.about("image.replaced", image, object=OTHER)
            case "describe":
                play.about("image.described", image, alt="a chair")
            case _:
                play.say(draw(st.sampled_from(["body.erased", "image.failed"])), {"seq": 0, "reason": "law"})
    erasable = [
        fact.seq for fact in play.facts if fact.kind in ("image.added", "image.replaced", "image.described")
    ]
    for seq in draw(st.sets(st.sampled_from(erasable))) if erasable else ():
        play.erase(seq)
    return play


@given(plays())
def test_the_order_is_that_of_plain_lists(play: Play) -> None:
    assert [image.id for image in fold(play.facts)] == play.order


@given(plays())
def test_every_prefix_is_gapless_with_one_main_image(play: Play) -> None:
    for length in range(len(play.facts) + 1):
        images = fold(play.facts[:length])
        assert [image.order for image in images] == list(range(len(images)))
        assert [image.main for image in images] == [place == 0 for place in range(len(images))]


@given(plays())
def test_an_erased_body_shows_nowhere(play: Play) -> None:
    for image in fold(play.facts):
        content = play.facts[image.content_seq]
        assert image.erased == (content.payload is None)
        assert image.url == (f"foja:erased/{content.id}" if image.erased else f"foja:sha256/{image.object}")
        assert (image.alt is not None) == (
            image.alt_seq is not None and play.facts[image.alt_seq].payload is not None
        )


def test_an_erased_replacement_does_not_bring_back_what_it_replaced() -> None:
    play = Play()
    image = play.add()
    play.about("image.replaced", image, object=OTHER)
    assert play.one().object == OTHER
    play.erase(1)
    assert play.one().url == f"foja:erased/{play.facts[1].id}"
    assert play.one().object is None


def test_an_erased_text_does_not_bring_back_the_one_before() -> None:
    play = Play()
    image = play.add(alt="a chair")
    assert play.one().alt == "a chair"
    play.about("image.described", image, alt="Ana on a chair")
    assert play.one().alt == "Ana on a chair"
    play.erase(1)
    assert play.one().alt is None
    play.about("image.described", image, alt="")
    assert play.one().alt is None


def test_a_variant_of_an_earlier_content_is_not_shown() -> None:
    play = Play()
    image = play.add()
    made = {"variant": "desktop", "spec": OTHER, "object": OTHER}
    play.about("image.rendered", image, original=DIGEST, **made)
    assert play.one().variants == {"desktop": f"foja:sha256/{OTHER}"}
    assert (play.one().thumbnail_url, play.one().signature) == (f"foja:sha256/{OTHER}", DIGEST)
    play.about("image.replaced", image, object=OTHER)
    assert (play.one().variants, play.one().thumbnail_url, play.one().signature) == ({}, None, None)
    play.about("image.rendered", image, original=DIGEST, **made)
    assert play.one().variants == {}


def test_an_adopted_image_shows_what_its_row_had() -> None:
    play = Play()
    row = {
        "created_at": "2024-01-02T03:04:05.678901+00:00",
        "thumbnail_url": "https://cdn.example/t.jpg",
        "thumbnails": {"mobile": "https://cdn.example/m.jpg"},
        "thumbnail_signature": "t.jpg",
    }
    play.say("image.added", {"url": "https://cdn.example/a.jpg", "adopted": row})
    image = play.one()
    assert image.created_at == datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert image.columns()["thumbnails"] == row["thumbnails"]
    assert (image.thumbnail_url, image.signature) == (row["thumbnail_url"], "t.jpg")
    odd = {"created_at": "2024-13-02T03:04:05+00:00", "thumbnails": [], "thumbnail_url": 1}
    play.facts[0] = play.facts[0]._replace(payload={"url": "x", "adopted": odd})
    image = play.one()
    assert (image.created_at, image.variants, image.thumbnail_url) == (START, {}, None)
