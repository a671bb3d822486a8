"""API keys: their models and operations.

Source: spec 4.1, 4.2, 4.3-keys, 4.4-delete; decision tables assumed 4.2 to 4.6.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Annotated, Any, Final, Literal, cast

from msgspec import structs
from pydantic import FailFast, Field, StrictBool, StrictStr, create_model

from sandbox.domain import keys
from sandbox.domain.access import Holds, check_grant, need, withheld_from_all
from sandbox.domain.clock import KEY_EXPIRES
from sandbox.domain.directory import Account, AccountType, relate_with_admin_reach
from sandbox.domain.faults import FORBIDDEN, VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import PERMISSION_COUNT, Text
from sandbox.domain.instants import Instant, to_wire
from sandbox.domain.keys import ApiKey, ApiKeyView
from sandbox.domain.permissions import ALL, CONCRETE, LEGACY_ALL, PERMISSIONS
from sandbox.domain.profile import Profile
from sandbox.domain.text import OneOf, did_you_mean
from sandbox.platform.access import can_see_all
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.platform.fields import Body, requires
from sandbox.platform.operation import ACCOUNT_IN_QUERY, Run, Target, operation

# The operation refuses other unknown permissions, naming the nearest one (spec 4.1.2).
_Permission = Annotated[StrictStr, OneOf((*CONCRETE, ALL))]


# Unknown fields are rejected on API keys: spec 4.1.1.
class CreateKey(Body, extra="forbid"):
    """The body that creates a key. Source: spec 4.1."""

    name: Text
    permissions: Annotated[list[_Permission], PERMISSION_COUNT, FailFast()]
    account_id: StrictStr | None = None
    expires_at: Instant | None = None
    always_retrievable: StrictBool | None = None
    supplied_key: StrictStr | None = None


class UpdateKey(Body, extra="forbid"):
    """The body that updates a key; null changes nothing. Source: spec 4.3-keys."""

    name: Text | None = None
    expires_at: Instant | None = None
    status: Literal["revoked", "active"] | None = None


@cache
def _create_key(profile: Profile) -> type[CreateKey]:
    """Return `CreateKey` with the profile's name and prefix for the supplied key."""
    supplied_key_field, prefix = profile.supplied_key_field, profile.key_prefixes.uat
    field = Field(default=None, alias=supplied_key_field)
    key = rf"^{prefix}_[A-Za-z0-9]{{{keys.LOOKUP_CHARS}}}_[A-Za-z0-9]{{{keys.SECRET_CHARS}}}$"
    # For the schema: a supplied key and the flag go together (spec 4.1).
    supplied = {supplied_key_field: {"type": "string", "pattern": key}}
    together = requires(always_retrievable={"const": True}, **supplied)
    flag = {"always_retrievable": {"enum": [False, None]}}
    neither = {"properties": flag | {supplied_key_field: {"type": "null"}}}
    return create_model(
        "CreateKey",
        __base__=CreateKey,
        __cls_kwargs__={"json_schema_extra": {"anyOf": [neither, together]}},
        supplied_key=(StrictStr | None, field),
    )


_KEY_IN_PATH: Final = Target("path", "key_id", ApiKey, relate=relate_with_admin_reach)


def _operation(
    name: str, method: str, permission: str, below: str = "", **more: Any
) -> Callable[[Run], Run]:
    """Register an operation on API keys. Most concern the key in the path."""
    needs = need(f"apikeys:{permission}", sub=True)
    how: dict[str, Any] = {"target": _KEY_IN_PATH, "is_key_shown": True, "needs": needs}
    return operation(f"apikeys.{name}", method, f"/v5/apikeys{below}", **(how | more))


@_operation(
    "create",
    "POST",
    "create",
    target=Target("body", "account_id", relate=relate_with_admin_reach),
    body=_create_key,
    status=201,
    events=("api_key.created",),
    refuses=(FORBIDDEN,),
    source="spec 4.1",
    example={"name": "Till 2", "permissions": ["payments:read"]},
)
def create(context: RequestContext, body: CreateKey) -> ApiKeyView:
    """Create an API key.

    Unless the key is always retrievable, only this answer shows its plaintext.
    """
    permissions = _permissions(body.permissions)
    _check_expiry(context, body.expires_at)
    supplied = _supplied_key(context, body)
    _must_be_grantable(context, permissions)
    account = context.known_account
    return issue_and_announce(
        context, account, body.name, permissions, expires_at=body.expires_at, supplied=supplied
    )


def issue_and_announce(
    context: OperationContext,
    account: Account,
    name: str,
    permissions: tuple[str, ...],
    *,
    expires_at: Instant | None = None,
    supplied: str | None = None,
) -> ApiKeyView:
    """Issue a key, generated unless it was supplied, and return it with its plaintext."""
    plaintext = _mint(context) if supplied is None else supplied
    parsed = context.world.profile.key_format.parse(plaintext)
    salt = context.world.draws.secret_chars(16)
    key = ApiKey(
        id=context.world.draws.uuid(),
        account_id=account.id,
        name=name,
        lookup=parsed.lookup,
        salt=salt,
        digest=keys.digest_of(salt, parsed.secret),
        key_last4=parsed.secret[-4:],
        permissions=permissions,
        expires_at=expires_at or keys.default_expiry(context.now),
        created_at=context.now,
        always_retrievable=supplied is not None,
        readable_key=supplied,
        withheld=_withheld(context) if ALL in permissions else (),
    )
    context.unit.put(key)
    context.unit.schedule(keys.expiry_of(key))
    context.emit("api_key.created", key)
    return keys.view(key, last_used_at=None, plaintext=plaintext)


def _mint(context: OperationContext) -> str:
    """Return the plaintext of a new key.

    Its lookup is unique in the world, and the key on the server.
    """
    while True:
        lookup = context.world.draws.secret_chars(keys.LOOKUP_CHARS)
        secret = context.world.draws.secret_chars(keys.SECRET_CHARS)
        plaintext = context.world.profile.key_format.write(lookup, secret)
        is_new_here = context.unit.one(ApiKey, "lookup", lookup) is None
        # A reset world generates the same keys again; another world may have one of them by now.
        if is_new_here and context.world.key_is_free(plaintext):
            return plaintext


def _permissions(requested: Iterable[str]) -> tuple[str, ...]:
    """Return the permissions as stored: in the order sent, without duplicates (assumed 4.4).

    Raises Refusal for a string that is not a permission (spec 4.1.2) and for `legacy_all` (4.1.6).
    """
    permissions = tuple(dict.fromkeys(requested))
    for permission in permissions:
        if permission not in PERMISSIONS:
            hint = did_you_mean(permission[:80], PERMISSIONS - {LEGACY_ALL})
            why = f"permissions: {permission[:80]!r} is not a permission{hint}"
            raise Refusal(VALIDATION_ERROR, why, source="spec 4.1.2")
    if LEGACY_ALL in permissions:
        why = "permissions: legacy_all cannot be requested"
        raise Refusal(VALIDATION_ERROR, why, source="spec 4.1.6")
    return permissions


def _check_expiry(
    context: OperationContext, expires_at: Instant | None, *, is_legacy: bool = False
) -> None:
    """Raise Refusal for an expiry in the world's past, or one that a legacy key cannot have.

    Source: assumed 1.2, D19, D33.
    """
    if expires_at is None:
        return
    is_past = expires_at <= context.now
    if is_past and context.world.readings["past_expiry"] == "refused":  # assumed D35-past
        raise Refusal(VALIDATION_ERROR, "expires_at: must be in the future", source="assumed D19")
    if is_legacy and expires_at > keys.LEGACY_EXPIRY:
        end = f"expires_at: legacy keys end at {to_wire(keys.LEGACY_EXPIRY)}"
        raise Refusal(VALIDATION_ERROR, end, source="assumed D33", step="rule")


def _supplied_key(context: RequestContext, body: CreateKey) -> str | None:
    """Return the key that the caller brought, once it is known to be usable. Source: spec 4.1."""
    field, supplied = context.world.profile.supplied_key_field, body.supplied_key
    if not body.always_retrievable:
        if supplied is not None:
            raise Refusal(VALIDATION_ERROR, f"{field}: requires always_retrievable true")
        return None
    if supplied is None:
        raise Refusal(VALIDATION_ERROR, f"{field}: required when always_retrievable is true")
    key_format = context.world.profile.key_format
    parsed = key_format.parse(supplied)
    if parsed.kind is not keys.KeyKind.V5:
        raise Refusal(
            VALIDATION_ERROR,
            f"{field}: must be {key_format.prefix}_, {keys.LOOKUP_CHARS} letters or digits, _, "
            f"and {keys.SECRET_CHARS} letters or digits",
        )
    if context.unit.one(ApiKey, "lookup", parsed.lookup) is not None:
        raise Refusal(VALIDATION_ERROR, f"{field}: its lookup segment is already used")
    if supplied in context.incoming.taken_keys or not context.world.key_is_free(supplied):
        # A key finds its world, so one key cannot belong to two worlds.
        raise Refusal(VALIDATION_ERROR, f"{field}: this key is already used")
    return supplied


def _must_be_grantable(context: OperationContext, permissions: tuple[str, ...]) -> None:
    """Raise Refusal if the caller may not grant these. Source: spec 4.1.4, 4.1.5, 5.8."""
    caller, account_type = context.known_caller, context.known_caller.account.type
    check_grant(
        permissions,
        caller.grants,
        account_type,
        context.world.profile.permissions.admin_only,
        withheld=_withheld(context),
        withheld_from_caller=caller.key.withheld,
        all_needs_psp=context.world.readings["all_granted_by"] == "psp",
    )
    context.explain("grant", "ok", "the caller may grant every requested permission", "spec 4.1.4")
    if ALL in permissions and (withheld := _withheld(context)):
        left_out = f"all leaves out {', '.join(withheld)}: the caller is a {account_type} account"
        context.explain("grant", "ok", left_out, "assumed D36")


def _withheld(context: OperationContext) -> tuple[str, ...]:
    """Return the permissions that `all` leaves out in a new key of this caller.

    Source: assumed D36.
    """
    caller = context.known_caller
    admin_only = context.world.profile.permissions.admin_only
    left_out = {*withheld_from_all(caller.account.type, admin_only), *caller.key.withheld}
    return tuple(name for name in CONCRETE if name in left_out)


@_operation("list", "GET", "read", target=ACCOUNT_IN_QUERY, source="spec 4.2")
def list_all(context: OperationContext) -> list[ApiKeyView]:
    """List API keys."""
    found, _ = context.unit.find(ApiKey, {"account": _accounts_in_view(context)})
    return [_view(context, key) for key in found]


def _accounts_in_view(context: OperationContext) -> list[str]:
    """Return the ids of the accounts whose keys are listed. Source: assumed 4.5."""
    if context.account is not None:
        return [context.account.id]
    own = context.known_caller.account
    is_all = can_see_all(context.world, own)
    if context.holds is Holds.BASE and not is_all:
        return [own.id]
    # For an admin every other account is a descendant (spec 4.2-admin; assumed 4.1).
    where = {} if own.type is AccountType.ADMIN else {"ancestor": own.id}
    found, _ = context.unit.find(Account, where)
    others = [one.id for one in found if one.deleted_at is None and one.id != own.id]
    return others if context.holds is Holds.SUB and not is_all else [own.id, *others]


@_operation("read", "GET", "read", "/{key_id}", source="spec 4.2")
def read(context: OperationContext, key: ApiKey) -> ApiKeyView:
    """Read one API key."""
    return _view(context, key)


@_operation(
    "update",
    "PUT",
    "edit",
    "/{key_id}",
    events=("api_key.revoked", "api_key.reinstated"),
    source="spec 4.3-keys",
    example={"status": "revoked"},
)
def update(context: OperationContext, key: ApiKey, body: UpdateKey) -> ApiKeyView:
    """Rename an API key, move its expiry, revoke or reinstate it.

    Its permissions never change.
    """
    if body.expires_at != key.expires_at:  # What it is already may be sent back: assumed D42.
        _check_expiry(context, body.expires_at, is_legacy=key.is_legacy)
    changed = structs.replace(
        key, name=body.name or key.name, expires_at=body.expires_at or key.expires_at
    )
    if body.status is not None:
        changed = move(context, changed, keys.TRIGGER_OF_STATUS[body.status])
    elif changed != key:
        context.unit.put(changed)
    if changed.expires_at != key.expires_at:
        context.unit.schedule(keys.expiry_of(changed))
    return _view_changed(context, changed)


def move(context: OperationContext, key: ApiKey, trigger: str) -> ApiKey:
    """Revoke, reinstate or delete the key, with an event if its state changes; returns the key.

    Raises NoSuchStep where a deleted key has no such step.
    """
    step = keys.KEY_LIFE.step(keys.state_of(key), trigger)
    if step.target != "deleted":
        key = structs.replace(key, status=cast(keys.KeyStatus, step.target))
    elif step.event is not None:
        # The wire has no status for a deleted key: it stays `revoked` there (spec 2.1).
        key = structs.replace(key, status="revoked", deleted_at=context.now)
    context.apply(step, key)
    return key


@_operation(
    "delete",
    "DELETE",
    "delete",
    "/{key_id}",
    target=structs.replace(_KEY_IN_PATH, may_be_deleted=True),
    events=("api_key.deleted",),
    source="spec 4.4-delete",
)
def delete(context: OperationContext, key: ApiKey) -> ApiKeyView:
    """Delete an API key for good.

    Deleting it again gives the same answer and changes nothing.
    """
    own, reading = context.known_caller.key.id, context.world.readings["key_deletes_itself"]
    if key.id == own and reading == "refused":
        text = "the key of the request cannot delete itself"
        why = "the reading key_deletes_itself is refused"
        raise Refusal(VALIDATION_ERROR, text, reason=why, source="assumed D35-delete", step="rule")
    context.unit.cancel(KEY_EXPIRES, key.id)
    return _view_changed(context, move(context, key, "delete"))


def _view_changed(context: OperationContext, key: ApiKey) -> ApiKeyView:
    """Return the key after a change; a reading hides its plaintext.

    Source: assumed D35-plaintext.
    """
    shown = _view(context, key)
    if context.world.readings["key_after_a_change"] == "hidden":
        return structs.replace(shown, key=None)
    return shown


def _view(context: OperationContext, key: ApiKey) -> ApiKeyView:
    usage = context.unit.get(keys.KeyUsage, key.id)
    return keys.view(key, last_used_at=usage.last_used_at if usage else None)
