"""A checked fixture, and the error for one that cannot be used."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

Documents = Mapping[str, Mapping[str, Any]]
"""Cast name to the fields that a document gives, with the values that records have."""


class FixtureError(ValueError):
    """A fixture cannot be used; the message names the file, the document, the field, the reason."""


class Fixture(Struct, frozen=True, gc=False):
    """A checked fixture: documents by cast name, in file order, parents before children.

    `document` is the whole of a file that did not come with the sandbox. With a `snapshot` a world
    begins as the one that was saved; the documents are then those that that one began with.
    """

    name: str
    accounts: Documents
    terminals: Documents
    locations: Documents
    api_keys: Documents
    document: Mapping[str, Any] | None = None
    snapshot: Mapping[str, Any] | None = None
    endpoints: Documents = field(default_factory=dict)
