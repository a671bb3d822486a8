"""Rows of API-key management. Source: spec 4.1 to 4.4-delete."""

from typing import TYPE_CHECKING, Final

from sandbox.domain.access import need
from sandbox.domain.directory import relate_with_admin_reach
from sandbox.domain.faults import FORBIDDEN
from sandbox.domain.keys import ApiKey, ApiKeyView
from sandbox.domain.profile import Profile
from sandbox.platform.apikeys import bodies, operations
from sandbox.platform.rows import Row, Target

if TYPE_CHECKING:
    from sandbox.platform.apikeys.bodies import CreateKey

_KEY_IN_PATH: Final = Target(
    where="path", name="key_id", kind=ApiKey, relate=relate_with_admin_reach
)


def _create_key(profile: Profile) -> "type[CreateKey]":
    """The body under a profile: it names the field for a supplied key."""
    from sandbox.platform.apikeys.bodies import create_key_body

    return create_key_body(profile.supplied_key_field, profile.key_prefixes.uat)


ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="apikeys.create",
        method="POST",
        path="/v5/apikeys",
        summary="Create an API key",
        source="spec 4.1",
        need=need("apikeys:create", sub=True),
        target=Target(where="body", name="account_id", relate=relate_with_admin_reach),
        run=operations.create,
        body=_create_key,
        response=ApiKeyView,
        shows_key=True,
        status=201,
        events=("api_key.created",),
        refuses=(FORBIDDEN,),
    ),
    Row(
        name="apikeys.list",
        method="GET",
        path="/v5/apikeys",
        summary="List API keys",
        source="spec 4.2",
        need=need("apikeys:read", sub=True),
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        response=list[ApiKeyView],
        shows_key=True,
    ),
    Row(
        name="apikeys.read",
        method="GET",
        path="/v5/apikeys/{key_id}",
        summary="Read one API key",
        source="spec 4.2",
        need=need("apikeys:read", sub=True),
        target=_KEY_IN_PATH,
        run=operations.read,
        response=ApiKeyView,
        shows_key=True,
    ),
    Row(
        name="apikeys.update",
        method="PUT",
        path="/v5/apikeys/{key_id}",
        summary="Rename an API key, move its expiry, revoke or reinstate it",
        source="spec 4.3-keys",
        need=need("apikeys:edit", sub=True),
        target=_KEY_IN_PATH,
        run=operations.update,
        body=lambda _: bodies.UpdateKey,
        response=ApiKeyView,
        shows_key=True,
        events=("api_key.revoked", "api_key.reinstated"),
    ),
    Row(
        name="apikeys.delete",
        method="DELETE",
        path="/v5/apikeys/{key_id}",
        summary="Delete an API key for good",
        source="spec 4.4-delete",
        need=need("apikeys:delete", sub=True),
        # Repeating it finds the deleted key: the one exception to "deleted is 404".
        target=Target(
            where="path",
            name="key_id",
            kind=ApiKey,
            relate=relate_with_admin_reach,
            even_deleted=True,
        ),
        run=operations.delete,
        response=ApiKeyView,
        shows_key=True,
        events=("api_key.deleted",),
    ),
)
