"""Forms (multipart/form-data): a few short fields, then one file that is streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from foja.errors import BadPayload
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.transfer.bodies import check_same_site, media_type_of, pieces_of

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FORM, FILE = "multipart/form-data", "file"
MAX_FIELDS, MAX_FIELD_BYTES = 16, 16_384


@dataclass(slots=True)
class Part:
    """A part of a form."""

    headers: dict[bytes, bytes] = field(default_factory=dict)
    name: str = ""
    filename: str | None = None
    data: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Form:
    """The parts before the file, and the name and type of the file."""

    parts: list[Part] = field(default_factory=list)
    filename: str | None = None
    media_type: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The parts as texts; the last one of a name counts."""
        return {part.name: _text(part) for part in self.parts}

    def text(self, name: str) -> str | None:
        """Return a field as text, or None if the form does not have it."""
        return next((_text(part) for part in self.parts if part.name == name), None)


async def open_body(
    request: Request, most: int, allowed: Collection[str], *, max_field: int = 0, file_optional: bool = False
) -> tuple[Form | None, AsyncIterator[bytes]]:
    """Return the form of a body, if it is one, with no other fields, and the bytes of the file."""
    check_same_site(request)
    pieces = pieces_of(request, most)
    if media_type_of(request) != FORM:
        return None, pieces
    reader = FormReader(request, pieces, max_field=max_field or MAX_FIELD_BYTES, file_optional=file_optional)
    form = await reader.open()
    if unknown := sorted({part.name for part in form.parts}.difference(allowed)):
        raise BadPayload(f"the form has no field {unknown[0]!r}: expected file, {', '.join(sorted(allowed))}")
    return form, reader.pieces()


class FormReader:
    """Reads one form. `open` returns the form when its file begins, and `pieces` yields the file."""

    def __init__(
        self,
        request: Request,
        pieces: AsyncIterator[bytes],
        *,
        max_field: int = MAX_FIELD_BYTES,
        file_optional: bool = False,
    ) -> None:
        self._pieces, self.form = pieces, Form()
        self._max_field, self._file_optional = max_field, file_optional
        self._part, self._header, self._buffered = Part(), b"", 0
        self._file: list[bytes] = []
        self._in_file = self._ended = False
        _, options = parse_options_header(request.headers.get("content-type", ""))
        calls: MultipartCallbacks = {
            "on_part_begin": self._part_begin,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_end": self._end,
        }
        try:
            self._parser = MultipartParser(options[b"boundary"], calls)
        except (KeyError, FormParserError):
            raise _bad_form("it names no boundary") from None

    async def open(self) -> Form:
        """Read up to the beginning of the file, and return the form."""
        while not self._in_file and await self._advance():
            pass
        if not self._in_file and not self._file_optional:
            raise _bad_form("it has no file")
        return self.form

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the file; after it, the form must end."""
        while True:
            found, self._file = self._file, []
            for piece in found:
                yield piece
            if not await self._advance():
                return

    async def _advance(self) -> bool:
        """Parse the next piece of the body; return False at its end."""
        piece = await anext(self._pieces, None)
        if piece is None:
            if not self._ended:
                raise _bad_form("it ends too early")
            return False
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise _bad_form(str(error)) from None
        return True

    def _part_begin(self) -> None:
        if self._in_file:
            raise _bad_form("its file is not the last part: send the fields first")
        if len(self.form.parts) >= MAX_FIELDS:
            raise _bad_form(f"it has more than {MAX_FIELDS} fields")
        self._part = Part()

    def _header_field(self, data: bytes, start: int, stop: int) -> None:
        self._header += data[start:stop].lower()

    def _header_value(self, data: bytes, start: int, stop: int) -> None:
        headers = self._part.headers
        headers[self._header] = headers.get(self._header, b"") + data[start:stop]

    def _header_end(self) -> None:
        self._header = b""

    def _headers_finished(self) -> None:
        part = self._part
        _, options = parse_options_header(part.headers.get(b"content-disposition", b""))
        try:
            part.name = options.get(b"name", b"").decode()
            part.filename = options[b"filename"].decode() if b"filename" in options else None
            media_type = part.headers.get(b"content-type", b"").decode()
        except UnicodeDecodeError:
            raise _bad_form("a name in it is not UTF-8") from None
        if not part.name:
            raise _bad_form("a part of it has no name")
        if part.name == FILE:
            self._in_file = True
            self.form.filename, self.form.media_type = part.filename or None, media_type or None

    def _part_data(self, data: bytes, start: int, stop: int) -> None:
        if self._in_file:
            self._file.append(data[start:stop])
            return
        self._part.data += data[start:stop]
        self._buffered += stop - start
        if len(self._part.data) > self._max_field or self._buffered > MAX_FIELDS * self._max_field // 2:
            raise _bad_form(f"a field of it has more than {self._max_field:,} bytes, or all have too many")

    def _part_end(self) -> None:
        if not self._in_file:
            self.form.parts.append(self._part)

    def _end(self) -> None:
        self._ended = True


def _text(part: Part) -> str:
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        raise _bad_form("a field of it is not UTF-8") from None


def _bad_form(reason: str) -> Rejected:
    return Rejected(
        400, "The form is not valid.", f"{reason}; send multipart/form-data with fields, then the part `file`"
    )
