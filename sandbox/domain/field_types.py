"""The types of fields, with their rules as pydantic annotations.

API bodies, fixtures, snapshots and state files all validate through these types, so none of the
four accepts a value that another refuses. Records that our own code builds are not checked again.
"""

import base64
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
)

from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.permissions import PERMISSIONS
from sandbox.domain.receivers import is_inside, program_of
from sandbox.domain.text import expects, one_of


def sentence(message: str) -> str:
    """Return a message of pydantic in the style of ours."""
    text = message.removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}"


# --- texts ------------------------------------------------------------------------------------

Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
"""A string that is not empty: names and ids."""

Uuid = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]
"""An id as answers show it. Requests and files may name any id."""

Mcc = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9]{4}$")]
"""A merchant category code. Source: assumed 1.3-create."""

CONFIGS: Final = Field(max_length=200)

ProcessorConfigs = Annotated[tuple[Text, ...], CONFIGS, Field(fail_fast=True)]
"""The processor configurations that an account may use."""

CODE_CHARS: Final = 12
"""Source: assumed 1.6-create."""

CredentialCode = Annotated[
    str, StringConstraints(strict=True, min_length=CODE_CHARS, max_length=CODE_CHARS)
]
"""The code of a merchant credential."""

ProcessorBatchId = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=64)]
"""The processor's name for a batch. Source: assumed 1.11-open."""

Flag = Annotated[bool, Strict()]
"""True or false, not a number or a text."""

WorldId = Annotated[
    str, StringConstraints(strict=True, pattern=r"^[a-z0-9_-]{1,64}(@[a-z0-9_-]{1,32})?$")
]
"""The id of a world, with its team if it has one."""

WorldName = Annotated[str, StringConstraints(strict=True, max_length=200)]
"""The name of a world, for people."""


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


Percent = Annotated[float, Strict(), AfterValidator(_percent)]
"""A rate as records and documents hold it: 3.5 is 3.5 %. Source: spec 2.6-rates."""

AppliedRate = Annotated[
    Annotated[int, Strict()] | Annotated[float, Strict()],
    expects("must be a number"),
    AfterValidator(lambda rate: _percent(rate) or 0),
    WithJsonSchema({"type": "number"}),
]
"""The rate of a payment, in percent. Zero is written as 0, not as 0.0."""


def to_percent(rate: object) -> float:
    """Return the rate in percent: an integer of 100 or more is basis points, so 350 is 3.5.

    Raises ValueError unless it is 0 to 100 percent, or 100 to 10000 basis points.
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        raise ValueError("must be a number")
    is_basis_points = isinstance(rate, int) and PERCENT_MAX <= rate <= BASIS_POINTS_MAX
    try:
        return _percent(rate / 100 if is_basis_points else rate)
    except ValueError as error:
        raise ValueError(
            f"{error}, or basis points from {PERCENT_MAX} to {BASIS_POINTS_MAX}"
        ) from None


Rate = Annotated[
    float,
    PlainValidator(to_percent),
    WithJsonSchema(
        {
            "description": "Percent; an integer of 100 or more is basis points.",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": PERCENT_MAX},
                {"type": "integer", "minimum": PERCENT_MAX, "maximum": BASIS_POINTS_MAX},
            ],
        }
    ),
]
"""A `Percent` as API bodies write it, where an integer of 100 or more is basis points.

Source: spec 2.6-rates; units assumed 2.8.
"""

PositiveAmount = Annotated[int, Field(strict=True, ge=1, le=AMOUNT_MAX)]
"""The amount of an operation, in minor units. Source: assumed 1.8-amount."""

Amount = Annotated[int, Field(strict=True, ge=0, le=AMOUNT_MAX)]
"""A part of an amount, in minor units."""

DELAY_MS_MAX: Final = 3_600_000
"""An hour: longer than any client waits."""

DelayMs = Annotated[int, Field(strict=True, ge=0, le=DELAY_MS_MAX)]
"""How long a processor takes, in milliseconds."""


# --- keys -------------------------------------------------------------------------------------

Permission = Annotated[str, Strict(), one_of("a permission", PERMISSIONS)]
"""One permission of a key, macros included. Source: spec 4.1.2."""

PERMISSION_COUNT: Final = Field(min_length=1)

Permissions = Annotated[tuple[Permission, ...], PERMISSION_COUNT, Field(fail_fast=True)]
"""The permissions of a key: at least one. Source: spec 4.1."""

Withheld = Annotated[tuple[Permission, ...], Field(fail_fast=True)]
"""The permissions that a key with `all` does not have. Source: assumed D36."""

FixtureLookup = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9]{12}$")]
"""The lookup segment that a fixture fixes."""

Lookup = Annotated[
    str, StringConstraints(strict=True, pattern=r"^([A-Za-z0-9]{12}|legacy-[0-9a-f]{24})$")
]
"""The search value of a key: its lookup segment, or the digest of a legacy key."""

Digest = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hex, in lower case."""


# --- endpoints --------------------------------------------------------------------------------


def problem_with(url: str) -> str | None:
    """Return why webhooks cannot be sent to this URL, like `names no host`; None if they can."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    problems = {
        "must begin with http:// or https://": parts.scheme not in ("http", "https"),
        "names no host": not parts.hostname,
        "must not hold a user name or password": (parts.username, parts.password) != (None, None),
        "must not have a fragment": parts.fragment != "",
        "must be ASCII, without spaces": not url.isascii() or any(map(str.isspace, url)),
    }
    return next((problem for problem, is_so in problems.items() if is_so), None)


def _http_url(url: str) -> str:
    if problem := problem_with(url):
        raise ValueError(problem)
    if is_inside(url):
        try:
            program_of(url)
        except ValueError as error:
            raise ValueError(f"a built-in receiver: {error}") from None
    return url


HttpUrl = Annotated[str, StringConstraints(strict=True, max_length=2048), AfterValidator(_http_url)]
"""Where webhooks go."""

EndpointId = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""The id of an endpoint, as used in paths."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64


def check_secret(secret: str) -> str:
    """Return the secret itself. Raises ValueError with a sentence that does not repeat it."""
    form = f"must be {SECRET_PREFIX} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"
    if secret != secret.strip():
        raise ValueError(f"has white space, such as a line end, before or after it; it {form}")
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(form)
    return secret


WebhookSecret = Annotated[
    str, StringConstraints(strict=True, max_length=200), AfterValidator(check_secret)
]
"""The secret that signs webhooks. Source: assumed 8.3-signature."""

EndpointDescription = Annotated[str, StringConstraints(strict=True, max_length=500)]
"""A description of an endpoint, for people."""
