"""How keys are written, taken apart and masked, under any profile."""

from string import ascii_letters, digits

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sandbox.domain.keys import (
    KeyFormat,
    KeyKind,
    digest_of,
    legacy_lookup,
)
from tests.profiles import NEUTRAL

FORMATS = {
    "svc_live": NEUTRAL.key_format,
    "a_b_c": KeyFormat(prefix="a_b", production_prefix="a_b_c", legacy_prefix="a"),
    "uat2": KeyFormat(prefix="uat", production_prefix="uat2", legacy_prefix="u"),
}
"""By the prefix of production keys; prefixes may begin alike."""

LETTERS = ascii_letters + digits


def chars(length: int) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=length, max_size=length)


PREFIXES = st.sampled_from(list(FORMATS))
KEY_PARTS = st.tuples(chars(12), chars(32))
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]))


# --- parse ------------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-format, 2.1-legacy")
@given(
    prefix=PREFIXES,
    parts=KEY_PARTS,
    more=st.text(LETTERS + "_- \n\u00e9", min_size=1, max_size=3),
)
def test_a_written_key_parses_and_one_with_text_around_it_does_not(prefix, parts, more):
    key_format, (lookup, secret) = FORMATS[prefix], parts
    key = key_format.write(lookup, secret)

    parsed = key_format.parse(key)
    around = [key_format.parse(more + key), key_format.parse(key + more)]
    legacy = key_format.parse(key_format.write_legacy(secret))

    assert (parsed.kind, parsed.lookup, parsed.secret) == (KeyKind.V5, *parts)
    assert [one for one in around if (one.kind, one.secret) == (KeyKind.V5, secret)] == []
    # A legacy key is found by a digest of its token.
    assert (legacy.kind, legacy.secret) == (KeyKind.LEGACY, secret)
    assert legacy.lookup == legacy_lookup(secret)
    assert len(legacy.lookup) > 12
    assert secret not in legacy.lookup


KINDS = [
    ("svc_uat_abcdefghijkl_" + "s" * 32, KeyKind.V5),
    ("svc_live_abcdefghijkl_" + "s" * 32, KeyKind.PRODUCTION),
    ("svc_live_", KeyKind.PRODUCTION),
    ("svc_live_\n", KeyKind.PRODUCTION),
    ("svc_sometoken", KeyKind.LEGACY),
    ("svc_uat", KeyKind.LEGACY),
    ("svc_live", KeyKind.LEGACY),
    ("", KeyKind.MALFORMED),
    ("svc", KeyKind.MALFORMED),
    ("svc_", KeyKind.MALFORMED),
    ("svc_uat_", KeyKind.MALFORMED),
    ("svc_uat_abcdefghijk_" + "s" * 33, KeyKind.MALFORMED),
    ("svc_uat_abcdefghijkl_" + "s" * 31, KeyKind.MALFORMED),
    ("svc_uat_abcdefghijkl_" + "s" * 33, KeyKind.MALFORMED),
    ("svc_uat_abcdefghijk-_" + "s" * 32, KeyKind.MALFORMED),
    ("svc_uat_abcdefghijkl_" + "\u00e9" * 32, KeyKind.MALFORMED),
    ("svc_uat_abcdefghijkl_" + "s" * 32 + "\n", KeyKind.MALFORMED),
    ("SVC_UAT_abcdefghijkl_" + "s" * 32, KeyKind.MALFORMED),
    ("acme_test_abcdefghijkl_" + "s" * 32, KeyKind.MALFORMED),
]


@pytest.mark.proves("spec 2.1-format, 2.1-legacy", "assumed 4.4-format")
def test_the_shape_of_a_text_says_what_kind_of_key_it_is():
    for text, kind in KINDS:
        parsed = NEUTRAL.key_format.parse(text)
        assert parsed.kind is kind, text
        # Nothing of a production or malformed key is taken out of it.
        if kind in (KeyKind.PRODUCTION, KeyKind.MALFORMED):
            assert (parsed.lookup, parsed.secret) == ("", "")


# --- scrub ------------------------------------------------------------------------------------


@given(
    prefix=PREFIXES,
    parts=KEY_PARTS,
    around=st.tuples(ANYTHING, ANYTHING),
    between=st.sampled_from(["", " ", "\n", "\\n", "_", ",", '"', "x", "svc"]),
)
def test_scrubbing_never_leaves_the_secret_of_a_key_and_any_text_is_taken_apart(
    prefix, parts, around, between
):
    key_format, (lookup, secret), (before, after) = FORMATS[prefix], parts, around
    assume(secret not in before + after)
    keys = [
        key_format.write(lookup, secret),
        key_format.write_legacy(secret),
        f"{prefix}_{lookup}_{secret}",
    ]

    for key in (*keys, between.join(keys)):
        scrubbed = key_format.scrub(before + key + after)
        assert secret not in scrubbed
        assert "****" in scrubbed
        assert key_format.scrub(scrubbed) == scrubbed
    for presented in (before, f"{key_format.prefix}_{before}", key_format.write(before, after)):
        assert key_format.parse(presented).kind in KeyKind


NO_KEYS = [
    *("", "Barton Springs Bistro", "the merchant's key", "service", "svc", "svc-uat-1", "****LG82"),
    "64e24377-b0e9-4882-9386-a4e53c72c012",
    '{"name":"front-desk","permissions":["payments:tap-ios"]}',
]


def test_a_text_without_keys_stays_unchanged_and_so_does_text_around_a_key():
    for text in NO_KEYS:
        assert NEUTRAL.key_format.scrub(text) == text
    text = '{"key":"svc_uat_abcdefghijkl_' + "s" * 32 + '","name":"x"}'
    assert NEUTRAL.key_format.scrub(text) == '{"key":"****","name":"x"}'


# --- secrets ----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-secret")
def test_a_digest_is_the_hex_sha256_of_salt_and_secret():
    digest = "bede90386d450cea8b77b822f8887065e4e5abf132c2f9dccfcc7fbd4cba5e35"

    assert digest_of("salt", "secret") == digest
    assert digest_of("salts", "ecret2") != digest
