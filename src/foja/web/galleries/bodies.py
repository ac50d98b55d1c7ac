"""Request bodies about galleries."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from foja.web.bodies import RequestBody

Place = Annotated[int, Field(ge=0, lt=2**31)]
Expected = Annotated[int, Field(ge=0, lt=2**63)]


class ExternalImage(RequestBody):
    """An image that is stored elsewhere. Its address is kept and never fetched."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://cdn.example/chair.jpg"}]})

    url: str
    supplier_id: str | None = None
    alt: str | None = None
    expected_seq: Expected | None = None


class MoveBody(RequestBody):
    """The place of an image; `expected_seq` refuses the move if others changed the gallery."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"to": 0}]})

    to: Place
    expected_seq: Expected | None = None


class DescriptionBody(RequestBody):
    """The alternative text of an image; an empty one removes it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"alt": "a red chair"}]})

    alt: str
    expected_seq: Expected | None = None
