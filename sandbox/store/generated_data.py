"""Believable merchants, terminals and locations for worlds that need many of them.

The data depends on the world's seed alone. Names and addresses come from Faker, which is imported
only when needed. They may change with its version, so tests should rely on counts and shapes.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from sandbox.domain.directory import Account, AccountType, Address, Location, Terminal
from sandbox.store.fixture import FixtureError
from sandbox.store.ids import Ids
from sandbox.store.store import Store
from sandbox.store.world_state import RECORDS_MAX, GeneratedData

if TYPE_CHECKING:
    from faker import Faker


_TRADES: Final = (
    ("5411", "{} Grocery", "Neighborhood grocery"),
    ("5812", "{} Bistro", "Restaurant with table service"),
    ("5812", "{} & Daughters Grill", "Restaurant with a bar"),
    ("5814", "{} Burgers", "Fast food"),
    ("5814", "{} Coffee", "Coffee shop"),
    ("5999", "{} Outfitters", "Specialty retail"),
    ("5942", "{} Books", "Bookshop"),
    ("7011", "Hotel {}", "Hotel"),
    ("7512", "{} Car Rental", "Car rental"),
    ("4121", "{} Cabs", "Taxi company"),
    ("7230", "{} Salon", "Hair salon"),
)
"""Kinds of businesses: category code, pattern of names, description."""

_STATIONS: Final = ("Front desk", "Register", "Counter", "Patio", "Bar", "Drive-through")
_CONFIG: Final = "cfg-tsys-001"


def generate(store: Store, counts: GeneratedData, draws: Ids, *, seed: int, now: datetime) -> None:
    """Put generated merchants into a new store, distributed over its partners."""
    from faker import Faker  # noqa: PLC0415 - it takes long to load

    fake = Faker("en_US", use_weighting=False)
    # As text, since Faker treats a number and its negative alike.
    fake.seed_instance(str(seed))
    with store.begin() as unit:
        for record in _Generator(fake, counts, draws, now).records(_parents(store)):
            unit.put(record)


def _parents(store: Store) -> list[Account]:
    """Return the partners, or else any accounts that can have merchants, oldest first."""
    live = [account for account in store.all(Account).values() if account.deleted_at is None]
    others = [account for account in live if account.type is not AccountType.MERCHANT]
    if not others:
        raise FixtureError("no account of the fixture can have merchants, so none can be generated")
    return [account for account in live if account.type is AccountType.PARTNER] or others


class _Generator(NamedTuple):
    """Generates the records of merchants."""

    fake: "Faker"
    counts: GeneratedData
    draws: Ids
    now: datetime

    def records(self, parents: list[Account]) -> Iterator[Account | Terminal | Location]:
        numbers = iter(range(1, RECORDS_MAX + 1))
        for number in range(self.counts.merchants):
            account = self._merchant(number, parents[number % len(parents)])
            yield account
            terminals = list(self._terminals(account, numbers))
            yield from terminals
            yield from self._locations(account, terminals)

    def _merchant(self, number: int, parent: Account) -> Account:
        fake = self.fake
        mcc, pattern, description = fake.random_element(_TRADES)
        return Account(
            id=self.draws.uuid_of(f"invented:account:{number}"),
            available_processor_configs=(_CONFIG,),
            tax_id=fake.numerify("%#-#######"),
            mcc=mcc,
            type=AccountType.MERCHANT,
            name=pattern.format(fake.last_name()),
            description=description,
            parent_account_ids=(*parent.parent_account_ids, parent.id),
            address=self._address(),
            created_at=self.now,
        )

    def _address(self) -> Address:
        fake = self.fake
        return Address(
            street_line1=fake.street_address(),
            city=fake.city(),
            state=fake.state_abbr(
                include_territories=False, include_freely_associated_states=False
            ),
            zip=fake.numerify("#####"),
            country="USA",
        )

    def _terminals(self, account: Account, numbers: Iterator[int]) -> Iterator[Terminal]:
        for at in range(self.counts.terminals_per_merchant):
            number, station = next(numbers), _STATIONS[at % len(_STATIONS)]
            yield Terminal(
                terminal_id=self.draws.uuid_of(f"invented:terminal:{number}"),
                name=f"{station} {at // len(_STATIONS) + 1}",
                description=f"{station} of {account.name}",
                account_id=account.id,
                # The merchants of the bundled fixtures have numbers that begin with 8860.
                mid=f"8880{number // 1_000:08d}",
                tid=f"{number:08d}",
                store_number="0001",
                bin="999991",
                vid=f"V{number:07d}",
                agent_bank_number="000000",
                merchant_category_code=account.mcc,
                terminal_capability="5",
                currency_code="USD",
                country_code="840",
                processor_config_id=_CONFIG,
                created_at=self.now,
                merchant_name=account.name,
            )

    def _locations(self, account: Account, terminals: list[Terminal]) -> Iterator[Location]:
        for at in range(self.counts.locations_per_merchant):
            yield Location(
                id=self.draws.uuid_of(f"invented:location:{account.id}:{at}"),
                name=account.name if at == 0 else f"{account.name} {self.fake.city()}",
                account_id=account.id,
                address=account.address if at == 0 else self._address(),
                phone=self.fake.numerify("%##55501##"),
                email=f"hello@{self.fake.domain_word()}.example",
                processor_config_id=_CONFIG,
                country_code="840",
                currency="USD",
                terminal_id=terminals[at].terminal_id if at < len(terminals) else None,
                created_at=self.now,
            )
