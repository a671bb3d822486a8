"""Runs a scenario in a world: its names become ids, its endpoints are registered."""

from collections.abc import Sequence
from datetime import datetime

from sandbox.domain.secrets import find_misplaced
from sandbox.domain.text import UnknownWord
from sandbox.scenarios.matcher import Running
from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.scenario import Scenario
from sandbox.webhooks.endpoints import TooManyEndpoints, declare, endpoint_of
from sandbox.worlds.world import World


def run_scenario(world: World, scenario: Scenario) -> Running:
    """Run the scenario in place of the one before.

    Raises ScenarioError if it names something that this world lacks; then nothing changed.
    """
    document = scenario.model_dump(mode="json", exclude_unset=True)
    if found := find_misplaced(document, world.profile.key_format):
        raise ScenarioError(str(found))
    running = _running(world, scenario, world.now())
    _must_have_bodies(world, scenario)
    _declare_endpoints(world, scenario)
    if scenario.readings:
        world.set_readings(scenario.readings)
    world.put_state(scenario=document, scenario_since=running.since)
    world.coverage.ran(scenario.name)
    return world.count_rules(running)


def run_stored_scenario(world: World, counts: Sequence[Sequence[int]] = ()) -> None:
    """Run the scenario that the store has, if any, from these counts of its rules.

    Raises ScenarioError, or ValueError if the counts are of another scenario.
    """
    if world.state.scenario is not None:
        since = world.state.scenario_since or world.now()
        running = _running(world, parse_scenario(dict(world.state.scenario)), since)
        if counts:
            running.go_on_from(counts)
        world.count_rules(running)


def _running(world: World, scenario: Scenario, since: datetime) -> Running:
    return Running(scenario, world.named, lambda name: world.draws.fraction(name), since)


def _must_have_bodies(world: World, scenario: Scenario) -> None:
    """Raises ScenarioError for a fault in the body of answers that have none in this world."""
    for number, rule in enumerate(scenario.rule, start=1):
        why_not = world.why_not(rule.then.fault, rule.when.operations)
        if why_not is not None:
            named = f" {rule.name!r}" if rule.name else ""
            raise ScenarioError(f"rule {number}{named}, then.fault: {why_not}")


def _declare_endpoints(world: World, scenario: Scenario) -> None:
    """Register the endpoints of the scenario, which stay after it. Raises ScenarioError."""
    now, endpoints = world.now(), []
    for number, one in enumerate(scenario.endpoint, start=1):
        account_id = one.account
        if account_id is not None:
            try:
                account_id = world.named("account", account_id)
            except UnknownWord as error:
                place = f"endpoint {number} {one.name!r}, account"
                raise ScenarioError(f"{place}: {error}", error.nearest) from None
        fields, named_chars = one.fields(account_id), world.draws.named_chars
        endpoints.append(endpoint_of(one.name, fields, created_at=now, named_chars=named_chars))
    try:
        declare(world.store, endpoints)
    except TooManyEndpoints as error:
        raise ScenarioError(f"endpoint: {error}") from None
