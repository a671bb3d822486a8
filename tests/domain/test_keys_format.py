"""How keys are written, taken apart and masked, under any profile."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.keys import (
    ApiKey,
    KeyFormat,
    KeyKind,
    digest_of,
    legacy_lookup,
    matches_secret,
)
from tests.profiles import NEUTRAL

FORMATS = {
    "neutral": NEUTRAL.key_format,
    "nested": KeyFormat(prefix="a_b", production_prefix="a_b_c", legacy_prefix="a"),
    "prefix of another": KeyFormat(prefix="uat", production_prefix="uat2", legacy_prefix="u"),
}
PRODUCTION = {
    "neutral": "svc_live",
    "nested": "a_b_c",
    "prefix of another": "uat2",
}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
formats = pytest.mark.parametrize("name", FORMATS)


def chars(length: int) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=length, max_size=length)


KEY_PARTS = st.tuples(chars(12), chars(32))
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]))


# --- parse ------------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-format")
@formats
@given(parts=KEY_PARTS)
def test_a_key_that_is_written_is_taken_apart_again(name, parts):
    key_format = FORMATS[name]

    parsed = key_format.parse(key_format.write(*parts))

    assert (parsed.kind, parsed.lookup, parsed.secret) == (KeyKind.V5, *parts)


@pytest.mark.proves("spec 2.1-legacy")
@formats
@given(token=chars(32))
def test_a_legacy_key_is_found_by_a_digest_of_its_token(name, token):
    key_format = FORMATS[name]

    parsed = key_format.parse(key_format.write_legacy(token))

    assert (parsed.kind, parsed.secret) == (KeyKind.LEGACY, token)
    assert parsed.lookup == legacy_lookup(token)
    assert len(parsed.lookup) > 12
    assert token not in parsed.lookup


@formats
@given(text=ANYTHING)
def test_taking_apart_never_raises(name, text):
    key_format = FORMATS[name]

    for presented in (text, f"{key_format.prefix}_{text}", key_format.write(text, text)):
        assert key_format.parse(presented).kind in KeyKind


@formats
@given(parts=KEY_PARTS, text=st.text(LETTERS + "_- \n\u00e9", min_size=1, max_size=3))
def test_a_key_with_something_around_it_is_not_that_key(name, parts, text):
    key_format = FORMATS[name]
    key = key_format.write(*parts)

    around = [key_format.parse(text + key), key_format.parse(key + text)]

    assert [one for one in around if one.kind is KeyKind.V5 and one.secret == parts[1]] == []


@pytest.mark.proves("spec 2.1-format, 2.1-legacy", "assumed 4.4-format")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("svc_uat_abcdefghijkl_" + "s" * 32, KeyKind.V5),
        ("svc_uat_ABCDEFGHIJK9_" + "0" * 32, KeyKind.V5),
        ("svc_live_abcdefghijkl_" + "s" * 32, KeyKind.PRODUCTION),
        ("svc_live_", KeyKind.PRODUCTION),
        ("svc_live_anything else", KeyKind.PRODUCTION),
        ("svc_live_\n", KeyKind.PRODUCTION),
        ("svc_sometoken", KeyKind.LEGACY),
        ("svc_uat", KeyKind.LEGACY),
        ("svc_live", KeyKind.LEGACY),
        ("", KeyKind.MALFORMED),
        ("svc", KeyKind.MALFORMED),
        ("svc_", KeyKind.MALFORMED),
        ("svc_uat_", KeyKind.MALFORMED),
        ("svc_uat_abcdefghijk_" + "s" * 32, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijklm_" + "s" * 32, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijkl_" + "s" * 31, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijkl_" + "s" * 33, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijk-_" + "s" * 32, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijkl_" + "\u00e9" * 32, KeyKind.MALFORMED),
        ("svc_uat_abcdefghijkl_" + "s" * 32 + "\n", KeyKind.MALFORMED),
        ("SVC_UAT_abcdefghijkl_" + "s" * 32, KeyKind.MALFORMED),
        ("acme_test_abcdefghijkl_" + "s" * 32, KeyKind.MALFORMED),
    ],
)
def test_the_shape_of_a_text_says_what_kind_of_key_it_is(text, kind):
    assert NEUTRAL.key_format.parse(text).kind is kind


@pytest.mark.parametrize("kind", [KeyKind.PRODUCTION, KeyKind.MALFORMED])
def test_nothing_of_a_production_or_malformed_key_is_taken_out_of_it(kind):
    texts = {
        KeyKind.PRODUCTION: "svc_live_abcdefghijkl_" + "s" * 32,
        KeyKind.MALFORMED: "svc_uat_abcdefghijkl_" + "s" * 31,
    }

    parsed = NEUTRAL.key_format.parse(texts[kind])

    assert (parsed.kind, parsed.lookup, parsed.secret) == (kind, "", "")


# --- scrub ------------------------------------------------------------------------------------


def _keys(name: str, lookup: str, secret: str) -> list[str]:
    """A key of each environment, as the format of this name writes it."""
    key_format = FORMATS[name]
    return [
        key_format.write(lookup, secret),
        key_format.write_legacy(secret),
        f"{PRODUCTION[name]}_{lookup}_{secret}",
    ]


@formats
@given(parts=KEY_PARTS, before=ANYTHING, after=ANYTHING)
def test_scrubbing_never_leaves_the_secret_of_a_key(name, parts, before, after):
    assume(parts[1] not in before + after)

    for key in _keys(name, *parts):
        scrubbed = FORMATS[name].scrub(before + key + after)
        assert parts[1] not in scrubbed
        assert "****" in scrubbed


@formats
@given(parts=KEY_PARTS, between=st.sampled_from(["", " ", "\n", "\\n", "_", ",", '"', "x", "svc"]))
def test_scrubbing_masks_every_one_of_several_keys(name, parts, between):
    scrubbed = FORMATS[name].scrub(between.join(_keys(name, *parts)))

    assert parts[1] not in scrubbed


@formats
@given(text=ANYTHING)
def test_scrubbing_twice_is_scrubbing_once(name, text):
    key_format = FORMATS[name]

    once = key_format.scrub(f"{text} {key_format.write_legacy('t' * 32)} {text}")

    assert key_format.scrub(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Barton Springs Bistro",
        "the merchant's key",
        "service",
        "svc",
        "svc-uat-1",
        "****LG82",
        "64e24377-b0e9-4882-9386-a4e53c72c012",
        '{"name":"front-desk","permissions":["payments:tap-ios"]}',
    ],
)
def test_a_text_without_keys_stays_as_it_is(text):
    assert NEUTRAL.key_format.scrub(text) == text


def test_what_stands_around_a_key_stays():
    text = '{"key":"svc_uat_abcdefghijkl_' + "s" * 32 + '","name":"x"}'

    assert NEUTRAL.key_format.scrub(text) == '{"key":"****","name":"x"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("svc_live_a", True),
        ("my svc_live_Abc key", True),
        ("xsvc_live_1", True),
        ("svc_live_", False),
        ("svc_live", False),
        ("svc_live_-", False),
        ("svc_uat_abcdefghijkl_" + "s" * 32, False),
        ("svc_lively_a", False),
    ],
)
def test_a_production_key_is_recognized_anywhere_in_a_text(text, expected):
    assert NEUTRAL.key_format.has_production_key(text) is expected


# --- secrets ----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-secret")
def test_a_digest_is_the_hex_sha256_of_salt_and_secret():
    digest = "bede90386d450cea8b77b822f8887065e4e5abf132c2f9dccfcc7fbd4cba5e35"

    assert digest_of("salt", "secret") == digest
    assert digest_of("salts", "ecret2") != digest


@pytest.mark.proves("spec 2.1-secret")
@given(salt=chars(16), secret=chars(32), other=chars(32))
def test_only_the_secret_itself_fits(salt, secret, other):
    at = parse_rfc3339("2026-03-01T12:00:00Z")
    key = ApiKey(
        id="k",
        account_id="a",
        name="k",
        lookup="abcdefghijkl",
        salt=salt,
        digest=digest_of(salt, secret),
        key_last4=secret[-4:],
        permissions=("all",),
        expires_at=at,
        created_at=at,
    )

    assert matches_secret(key, secret)
    assert matches_secret(key, other) is (other == secret)
    assert secret not in repr(key)
