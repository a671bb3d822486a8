"""The types of fields, each with its rule, for records, bodies and documents.

Records carry these types as annotations. API bodies, fixtures, snapshots and state files all
validate through them, so none of the four accepts a value that another refuses. The rules import
pydantic only when a schema is built: a start does not wait for it.

Rules check input from outside. Records that our own code builds are not checked again.
"""

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.permissions import PERMISSIONS
from sandbox.domain.words import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator, ValidationError


_LIMITS_SHOWN: Final = frozenset(
    {"minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems"}
)


class FieldRule:
    """One rule of a field, as part of an annotated type."""

    def check(self, value: Any) -> Any:
        """The value as a record holds it. Raises ValueError with a sentence that repeats no value.

        For documents, whose reader has already checked that the value has the plain type.
        """
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The rule as pydantic applies it, in bodies and in fixtures."""
        raise NotImplementedError

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """The schema of a request has the limits; the schema of an answer has the type alone."""
        shown: dict[str, Any] = handler(schema)
        if handler.mode == "serialization":
            return {name: shown[name] for name in shown if name not in _LIMITS_SHOWN}
        return shown


class Limits(FieldRule):
    """Strictly one plain type, within limits that pydantic knows."""

    def __init__(self, kind: Literal["str", "int", "float", "bool"], **limits: Any) -> None:
        self._schema: Any = {"type": kind, "strict": True, **limits}
        self._validator: SchemaValidator | None = None

    def check(self, value: Any) -> Any:
        from pydantic_core import SchemaValidator, ValidationError

        if self._validator is None:
            self._validator = SchemaValidator(self._schema)
        try:
            return self._validator.validate_python(value)
        except ValidationError as error:
            raise ValueError(sentence_of(error)) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return dict(self._schema)


class Check(FieldRule):
    """A rule that a function applies, after the plain type and the rules before it.

    The function returns the value as records hold it, or raises ValueError.
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def check(self, value: Any) -> Any:
        return self._check(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._check, handler(source))


class Count(FieldRule):
    """How many entries a list has."""

    def __init__(self, *, least: int = 0, most: int | None = None) -> None:
        self._least, self._most = least, most

    def check(self, value: Any) -> Any:
        if len(value) < self._least:
            raise ValueError(f"must have at least {self._least}")
        if self._most is not None and len(value) > self._most:
            raise ValueError(f"must have at most {self._most}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        schema: dict[str, Any] = dict(handler(source))
        if self._least:
            schema["min_length"] = self._least
        if self._most is not None:
            schema["max_length"] = self._most
        if schema["type"] == "tuple":
            # A list with a bad entry would also be reported as too short.
            schema["fail_fast"] = True
        return schema


def sentence_of(error: "ValidationError") -> str:
    """The mistake in a single value, in words that do not repeat it."""
    (first, *_) = error.errors(include_url=False, include_input=False, include_context=False)
    return sentence(first["msg"])


def sentence(message: str) -> str:
    """A message of pydantic as ours are written."""
    text = message.removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}"


# --- texts ------------------------------------------------------------------------------------

Text = Annotated[str, Limits("str", min_length=1)]
"""A string with something in it: names and ids."""

Mcc = Annotated[str, Limits("str", pattern=r"^[0-9]{4}$")]
"""A merchant category code. Source: assumed 1.3-create."""

CONFIGS: Final = Count(most=200)

ProcessorConfigs = Annotated[tuple[Text, ...], CONFIGS]
"""The processor configurations that an account may use."""

CODE_CHARS: Final = 12
"""Source: assumed 1.6-create."""

CredentialCode = Annotated[str, Limits("str", min_length=CODE_CHARS, max_length=CODE_CHARS)]
"""The code of a merchant credential."""

ProcessorBatchId = Annotated[str, Limits("str", min_length=1, max_length=64)]
"""The processor's name for a batch. Source: assumed 1.11-open."""

Flag = Annotated[bool, Limits("bool")]
"""True or false, and no other word for them."""

WorldId = Annotated[str, Limits("str", pattern=r"^[a-z0-9_-]{1,64}(@[a-z0-9_-]{1,32})?$")]
"""The id of a world, with its team if it has one."""

WorldName = Annotated[str, Limits("str", max_length=200)]
"""What people call a world."""


# --- rates and amounts ------------------------------------------------------------------------

SurchargeBasis = Literal["subtotal", "subtotal_plus_tax", "subtotal_plus_tip", "total"]
"""The base of a percentage rate. Source: assumed 2.8-values."""

TaxBasis = SurchargeBasis

PERCENT_MAX: Final = 100
BASIS_POINTS_MAX: Final = 10_000


def _percent(rate: float) -> float:
    if not 0 <= rate <= PERCENT_MAX:
        raise ValueError(f"must be a percentage from 0 to {PERCENT_MAX}")
    return float(rate)


Percent = Annotated[float, Limits("float"), Check(_percent)]
"""A rate as records and documents hold it: 3.5 is 3.5 %. Source: spec 2.6-rates."""


def to_percent(rate: int | float) -> float:
    """The rate in percent: an integer of 100 or more is basis points, so 350 is 3.5.

    Raises ValueError unless it is 0 to 100 percent, or 100 to 10000 basis points.
    """
    is_basis_points = isinstance(rate, int) and PERCENT_MAX <= rate <= BASIS_POINTS_MAX
    try:
        return _percent(rate / 100 if is_basis_points else rate)
    except ValueError as error:
        raise ValueError(
            f"{error}, or basis points from {PERCENT_MAX} to {BASIS_POINTS_MAX}"
        ) from None


class _WireRate(FieldRule):
    """A rate in a body: an integer can be basis points, a decimal is percent."""

    def check(self, value: Any) -> Any:
        return to_percent(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        whole = core_schema.int_schema(strict=True)
        decimal = core_schema.float_schema(strict=True, allow_inf_nan=False)
        return core_schema.no_info_after_validator_function(
            to_percent, core_schema.union_schema([whole, decimal])
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "description": "Percent; an integer of 100 or more is basis points.",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": PERCENT_MAX},
                {"type": "integer", "minimum": PERCENT_MAX, "maximum": BASIS_POINTS_MAX},
            ],
        }


Rate = Annotated[float, _WireRate()]
"""A `Percent` as API bodies write it, where an integer of 100 or more is basis points.

Source: spec 2.6-rates; units assumed 2.8.
"""

PositiveAmount = Annotated[int, Limits("int", ge=1, le=AMOUNT_MAX)]
"""The amount of an operation, in minor units. Source: assumed 1.8-amount."""

Amount = Annotated[int, Limits("int", ge=0, le=AMOUNT_MAX)]
"""A part of an amount, in minor units."""

DELAY_MS_MAX: Final = 3_600_000
"""An hour: longer than any client waits."""

DelayMs = Annotated[int, Limits("int", ge=0, le=DELAY_MS_MAX)]
"""How long a processor takes, in milliseconds."""


# --- keys -------------------------------------------------------------------------------------


def _known_permission(permission: str) -> str:
    if permission not in PERMISSIONS:
        raise ValueError(f"must be a permission{did_you_mean(permission, PERMISSIONS)}")
    return permission


Permission = Annotated[str, Limits("str"), Check(_known_permission)]
"""One permission of a key, macros included. Source: spec 4.1.2."""

PERMISSION_COUNT: Final = Count(least=1)

Permissions = Annotated[tuple[Permission, ...], PERMISSION_COUNT]
"""The permissions of a key: one at least. Source: spec 4.1."""

Withheld = Annotated[tuple[Permission, ...], Count(least=0)]
"""The permissions that `all` of a key leaves out. Source: assumed D36."""

FixtureLookup = Annotated[str, Limits("str", pattern=r"^[A-Za-z0-9]{12}$")]
"""The lookup segment that a fixture fixes."""

Lookup = Annotated[str, Limits("str", pattern=r"^([A-Za-z0-9]{12}|legacy-[0-9a-f]{24})$")]
"""The search value of a key: its lookup segment, or the digest of a legacy key."""

Digest = Annotated[str, Limits("str", pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hex, in lower case."""


# --- endpoints --------------------------------------------------------------------------------


def problem_with(url: str) -> str | None:
    """What keeps webhooks from being sent to this URL, as a predicate; None for nothing."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not parts.hostname:
        return "names no host"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or password"
    if parts.fragment:
        return "must not have a fragment"
    if not url.isascii() or any(character.isspace() for character in url):
        return "must be ASCII, without spaces"
    return None


def _http_url(url: str) -> str:
    if problem := problem_with(url):
        raise ValueError(problem)
    return url


HttpUrl = Annotated[str, Limits("str", max_length=2048), Check(_http_url)]
"""Where webhooks go."""

EndpointId = Annotated[str, Limits("str", pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""The id of an endpoint, as used in paths."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64


def check_secret(secret: str) -> str:
    """The secret itself. Raises ValueError with a sentence that does not repeat it."""
    if secret != secret.strip():
        raise ValueError(
            "has white space, such as a line end, before or after it; "
            "it must be whsec_ and 24 to 64 bytes in base64"
        )
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(
            f"must be {SECRET_PREFIX} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"
        )
    return secret


WebhookSecret = Annotated[str, Limits("str", max_length=200), Check(check_secret)]
"""What signs webhooks. Source: assumed 8.3-signature."""

EndpointDescription = Annotated[str, Limits("str", max_length=500)]
"""A description of an endpoint, for people."""
