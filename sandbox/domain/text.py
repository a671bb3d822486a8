"""Text of files that people write: UTF-8, with or without a byte order mark (assumed D48)."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE


class NotUtf8(ValueError):
    """Bytes that are no text in UTF-8; the message names the file format to save."""


def strip_mark(content: bytes) -> bytes:
    """The bytes without a byte order mark of UTF-8. Raises NotUtf8 for the marks of UTF-16."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise NotUtf8("is UTF-16; save it as UTF-8")
    return content.removeprefix(BOM_UTF8)


def decode_text(content: bytes) -> str:
    """The text of a file. Raises NotUtf8 for anything but UTF-8."""
    try:
        return strip_mark(content).decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None
