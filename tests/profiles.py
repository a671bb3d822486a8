"""The profiles under which the API-key suite runs: the neutral one, and one that differs in all."""

import pytest

from sandbox.domain.profile import DateFilters, Errors, KeyPrefixes, Profile

NEUTRAL = Profile()

BRANDED = Profile(
    name="branded",
    api_key_header="X-Acme-Token",
    webhook_header_prefix="acme",
    supplied_key_field="own_key",
    key_prefixes=KeyPrefixes(uat="acme_test", production="acme_prod", legacy="acme"),
    date_filters=DateFilters(start="from", end="to"),
    errors=Errors(shape="detail"),
)

under_both = pytest.mark.parametrize(
    "profile", [NEUTRAL, BRANDED], ids=lambda one: one.name, indirect=True
)
"""For modules in which names matter."""
