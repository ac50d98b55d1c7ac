"""What a ZIP is that is not a bundle as it was made, by its directory alone."""

from __future__ import annotations

from typing import BinaryIO

from foja.errors import BadBundle
from foja.pure.core.bundle.names import MANIFEST, MIMETYPE
from foja.pure.core.bundle.reader import LONGEST_DIRECTORY, ending_of, starts_like_zip

_METHOD, _NAME = slice(10, 12), 46  # in an entry of the directory: the compression, and where the name begins


def was_bundle(file: BinaryIO) -> bool:
    """Return whether the directory of a ZIP is that of a bundle; its first file is the stored media type."""
    directory = _directory(file)
    first = directory[_NAME:].startswith(MIMETYPE.encode()) and directory[_METHOD] == bytes(2)
    return first and MANIFEST.encode() in directory


def describe(file: BinaryIO) -> str:
    """Return what a ZIP is that is not judged as a bundle."""
    directory = _directory(file)
    if MANIFEST.encode() in directory:
        return "the files of a bundle, but another program packed them again: give the bundle as it was made"
    if b".asice" in directory:
        return "a ZIP with a bundle in it: unpack it, and give the file that ends in .asice"
    return "a ZIP, but not a bundle of Foja: containers of other makers are not supported"


def _directory(file: BinaryIO) -> bytes:
    """Return the directory of a ZIP; nothing if there is none, or if it is too large."""
    try:
        _, length, offset = ending_of(file, file.seek(0, 2)) if starts_like_zip(file) else (0, 0, 0)
    except BadBundle:
        return b""
    file.seek(offset)
    return file.read(min(length, LONGEST_DIRECTORY))
