"""A company's database of 60 tables, with a trap in each of three questions; their answers follow from its making."""

from __future__ import annotations

from typing import Final

from tests.data.shop import Shop

_FILLERS: Final = [
    "accounts",
    "addresses",
    "agreements",
    "audits",
    "badges",
    "bins",
    "calendars",
    "campaigns",
    "carriers",
    "categories",
    "channels",
    "claims",
    "clauses",
    "contacts",
    "contracts",
    "coupons",
    "couriers",
    "departments",
    "devices",
    "discounts",
    "documents",
    "employees",
    "expenses",
    "feedback",
    "forecasts",
    "holidays",
    "inspections",
    "inventory",
    "invoices",
    "journals",
    "leads",
    "ledgers",
    "locations",
    "machines",
    "meetings",
    "memos",
    "notes",
    "opportunities",
    "partners",
    "payrolls",
    "permits",
    "pickups",
    "policies",
    "positions",
    "prices",
    "projects",
    "promotions",
    "quotas",
    "quotes",
    "ratings",
    "receipts",
    "refunds",
    "regions",
    "reviews",
]
_TABLES: Final = """
    create schema sales; create schema back_office;
    create table sales.customers (
        customer_id int primary key, name text not null, country text not null, deleted_at timestamptz
    );
    comment on column sales.customers.deleted_at is 'set when a customer left; such rows are no customers any more';
    create table sales.orders (
        order_id int primary key, customer_id int not null references sales.customers, placed_on date not null,
        amount numeric(12,2) not null, currency text not null
    );
    comment on column sales.orders.amount is 'in the currency of the order';
    create table sales.exchange_rates (currency text primary key, eur_per_unit numeric(12,6) not null);
    create table sales.order_items (
        item_id int primary key, order_id int not null references sales.orders, product_id int not null,
        quantity int not null
    );
    create table sales.products (product_id int primary key, title text not null, unit_price numeric(12,2) not null);
    create table sales.shipments (
        shipment_id int primary key, order_id int not null references sales.orders, shipped_on date,
        parcels int not null
    );
    insert into sales.customers select i, 'Customer ' || i, (array['DE','FR','IT','ES'])[i % 4 + 1],
        case when i % 5 = 0 then '2025-03-01'::timestamptz end from generate_series(1, 200) i;
    insert into sales.exchange_rates values ('EUR', 1), ('USD', 0.9);
    insert into sales.orders select i, i % 200 + 1, '2025-01-01'::date + i % 365, 100,
        case when i % 2 = 0 then 'EUR' else 'USD' end from generate_series(1, 1000) i;
    insert into sales.products select i, 'Product ' || i, i from generate_series(1, 20) i;
    insert into sales.order_items select i, (i + 1) / 2, i % 20 + 1, 2 from generate_series(1, 2000) i;
    insert into sales.shipments select i, i % 1000 + 1, '2025-06-01', 1 from generate_series(1, 3000) i;
"""
CUSTOMERS_IN_GERMANY: Final = 40
"""Of 50, ten have left."""
TURNOVER_EUR: Final = 95_000
"""500 orders of 100 EUR, and 500 of 100 USD at 0.90."""
PIECES_OF_SHIPPED_ORDERS: Final = 4_000
"""Each order has two items of two pieces, and three shipments: joined, each piece would count three times."""


def build_company(shop: Shop) -> None:
    """Its tables in this database, for `reader` to read. Blocking."""
    shop.owned("drop table public.orders; drop table public.customers")
    shop.owned(_TABLES)
    for number, name in enumerate(_FILLERS):
        schema = "back_office" if number % 2 else "public"
        columns = f"{name}_id int primary key, title text, created_at timestamptz default now(), state text, note text"
        shop.owned(f"create table {schema}.{name} ({columns})")
    for schema in ("sales", "back_office", "public"):
        shop.owned(f"grant usage on schema {schema} to reader, writer")
        shop.owned(f"grant select on all tables in schema {schema} to reader, writer")
    shop.owned("grant update on sales.customers to writer; analyze")
