"""What becomes of another shop's rows: a gapless order, every repair named, nothing lost without a word."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from foja.pure.models.images.adoption import Adopted, Adopter

PRODUCT = "0190e5a4-0000-7000-8000-0000000000f0"


def image(number: int, order: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": str(UUID(int=number)),
        "product_id": PRODUCT,
        "image_url": f"u{number}",
        "image_order": order,
    } | more


def plan(*rows: dict[str, Any], known: bool = True, product: str | None = PRODUCT) -> Adopted:
    return Adopter().plan(product, None, rows, known=known)


def urls(adopted: Adopted) -> list[str]:
    return [each.url for each in adopted.images]


def codes(adopted: Adopted) -> list[str]:
    return [repair.code for repair in adopted.repairs]


def test_a_gallery_in_order_needs_no_repair() -> None:
    adopted = plan(image(1, 1), image(2, 0))
    assert (urls(adopted), codes(adopted)) == (["u2", "u1"], [])
    assert [each.id for each in adopted.images] == [UUID(int=2), UUID(int=1)]


def test_gaps_duplicates_and_missing_orders_are_named() -> None:
    assert codes(plan(image(1, 0), image(2, 2), image(3, 5))) == ["gap", "gap"]
    adopted = plan(image(2, 0, created_at="2025-02-01"), image(1, 0, created_at="2025-03-01"), image(3, 1))
    assert (urls(adopted), codes(adopted)) == (["u2", "u1", "u3"], ["duplicate", "gap"])
    adopted = plan(image(1, None), image(2, -1), image(3, 0))
    assert (urls(adopted)[0], codes(adopted)) == ("u3", ["no_order", "no_order"])


def test_products_without_a_row_and_odd_suppliers() -> None:
    assert codes(plan(image(1, 0), known=False)) == ["no_product"]
    adopted = Adopter().plan(PRODUCT, "ana", [image(1, 0)], known=True)
    assert (adopted.supplier_id, codes(adopted)) == (None, ["no_supplier"])
    assert Adopter().plan(PRODUCT, PRODUCT.upper(), [], known=True).supplier_id == UUID(PRODUCT)


def test_what_cannot_be_an_image_is_left_and_said() -> None:
    rows = [image(1, 0, image_url=None), image(2, 1, image_url=""), image(3, 2, image_url="foja:sha256/x")]
    adopted = plan(*rows, image(4, 3, image_url="x" * 8193), image(5, 4))
    assert urls(adopted) == ["u5"]
    assert [repair.image_id for repair in adopted.repairs if repair.lost] == [
        str(UUID(int=n)) for n in (1, 2, 3, 4)
    ]
    adopted = plan(image(1, 0), image(2, 1), product="7")
    assert (adopted.product_id, codes(adopted)) == (None, ["no_product_id", "no_product_id"])


def test_an_id_is_used_once() -> None:
    adopter = Adopter()
    first = adopter.plan(PRODUCT, None, [image(1, 0), image(1, 1), image(2, 2, id=7)], known=True)
    assert [each.id for each in first.images] == [UUID(int=1), None, None]
    assert len({each.key for each in first.images}) == 3
    second = adopter.plan(str(UUID(int=9)), None, [image(1, 0)], known=True)
    assert (second.images[0].id, codes(second)) == (None, ["no_id"])


rows = st.lists(
    st.builds(
        image,
        st.integers(0, 9),
        st.one_of(st.none(), st.integers(-2, 6)),
        created_at=st.sampled_from([None, "2025-01-01", "2025-01-02"]),
        image_url=st.sampled_from([None, "", "u", "v"]),
    )
)


@given(rows)
def test_every_row_is_adopted_or_named(found: list[dict[str, Any]]) -> None:
    adopted = plan(*found)
    lost = [repair for repair in adopted.repairs if repair.lost]
    assert len(adopted.images) + len(lost) == len(found)
    assert sorted(str(each.row) for each in adopted.images) == sorted(
        str(row) for row in found if row["image_url"]
    )


@given(rows)
def test_valid_orders_never_go_back(found: list[dict[str, Any]]) -> None:
    orders = [each.row["image_order"] for each in plan(*found).images]
    valid = [order for order in orders if order is not None and order >= 0]
    assert orders[: len(valid)] == sorted(valid)
