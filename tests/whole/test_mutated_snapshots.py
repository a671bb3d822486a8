"""Many mutations of a snapshot: what is taken answers everything, what is not is refused."""

import pytest

from tests.state.filling import a_sandbox, fill
from tests.state.mutating import failures

MANY = 150


@pytest.mark.parametrize("seed", range(10, 20))
def test_no_mutation_leads_to_a_500(seed: int):
    sandbox = a_sandbox()
    fill(sandbox)
    full = sandbox.control("GET", "/worlds/default/snapshot").body

    found, statuses = failures(full, seed, MANY)

    assert found == []
    assert min(statuses[200], statuses[400]) > MANY // 10
