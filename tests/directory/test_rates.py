"""Rates through the API, on each of the three kinds of record that carry them. Assumed 2.8."""

import pytest

from tests.directory.making import a_location, a_terminal, an_account, events, get, put, shown

KINDS = {
    "accounts": ("/v1/accounts", an_account, "id"),
    "terminals": ("/v2/terminals", a_terminal, "terminal_id"),
    "locations": ("/v1/locations", a_location, "id"),
}

RATES = [(350, 3.5), (100, 1.0), (10_000, 100.0), (99, 99.0), (3, 3.0), (3.5, 3.5), (0, 0.0)]


@pytest.mark.proves("spec 2.6-rates", "assumed 2.8")
@pytest.mark.parametrize(("sent", "percent"), RATES)
@pytest.mark.parametrize("field", ["surcharge_rate", "tax_rate"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_is_shown_in_percent_whichever_way_it_was_sent(sandbox, kind, field, sent, percent):
    path, create, key = KINDS[kind]

    created = create(sandbox, **{field: sent})
    read = shown(get(sandbox, f"{path}/{created[key]}"))
    changed = shown(put(sandbox, f"{path}/{created[key]}", {field: sent}))

    assert created[field] == read[field] == changed[field] == percent
    assert len(events(sandbox)) == 1


@pytest.mark.proves("assumed 2.8")
@pytest.mark.parametrize("kind", KINDS)
def test_zero_and_null_are_two_things_to_a_rate(sandbox, kind):
    # assumed 2.8: 0 means never, null means look further
    path, create, key = KINDS[kind]
    item = f"{path}/{create(sandbox, surcharge_rate=3.5)[key]}"

    never = shown(put(sandbox, item, {"surcharge_rate": 0}))
    unset = shown(put(sandbox, item, {"surcharge_rate": None}))

    assert (never["surcharge_rate"], unset["surcharge_rate"]) == (0, None)
    assert len(events(sandbox)) == 3
