"""A shop's database of sixty tables, as one looks in real life, and one of nine hundred in which it is lost."""

from __future__ import annotations

from itertools import product

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable, ForeignKey

_SHOP = """
customers: id, email text, first_name text, last_name text, phone text, created_at timestamptz, segment_id
    >customer_segments, referred_by >customers
customer_segments: id, label text [VIP|Regular|Dormant], minimum_spend numeric
addresses: id, customer_id >customers, street text, city text [Berlin|Paris|Lyon|Vienna|Oslo], postcode text,
    country_code text >countries, is_default bool
countries: code text, title text [Germany|France|Austria|Norway], currency_code text >currencies, continent text
    [Europe|Asia]
currencies: code text, title text [Euro|Krone], digits int
exchange_rates: id, currency_code text >currencies, valid_on date, rate numeric
products: id, sku text, title text, brand_id >brands, category_id >categories, weight_grams int, launched_on date,
    is_active bool
product_variants: id, product_id >products, colour text [Red|Blue|Black], size text [S|M|L|XL], barcode text
product_images: id, product_id >products, url text, position int
product_tags: product_id >products, tag_id >tags
tags: id, word text [vegan|outdoor|gift]
brands: id, title text [Nordwind|Kessel|Alpina], country_code text >countries
categories: id, parent_id >categories, title text [Shoes|Jackets|Tents|Backpacks], path text
price_lists: id, title text, currency_code text >currencies, valid_from date, valid_to date
prices: id, price_list_id >price_lists, variant_id >product_variants, amount numeric
orders: id, customer_id >customers, placed_at timestamptz, status text [pending|paid|shipped|cancelled|returned],
    channel_id >sales_channels, currency_code text >currencies, shipping_address_id >addresses
order_items: id, order_id >orders, variant_id >product_variants, quantity int, unit_price numeric, discount_amount
    numeric
order_events: id, order_id >orders, kind text, happened_at timestamptz, staff_id >staff
sales_channels: id, label text [Webshop|Marketplace|Store]
carts: id, customer_id >customers, created_at timestamptz, abandoned_at timestamptz
cart_items: id, cart_id >carts, variant_id >product_variants, quantity int
payments: id, order_id >orders, method_id >payment_methods, amount numeric, captured_at timestamptz, state text
    [authorised|captured|failed]
payment_methods: id, label text [Card|PayPal|Invoice|Klarna]
refunds: id, payment_id >payments, amount numeric, reason_id >return_reasons, refunded_at timestamptz
invoices: id, order_id >orders, number text, issued_on date, due_on date, paid_on date
invoice_lines: id, invoice_id >invoices, description text, net_amount numeric, vat_rate_id >vat_rates
vat_rates: id, country_code text >countries, percent numeric, valid_from date
coupons: id, code text, percent_off numeric, campaign_id >campaigns, expires_on date
coupon_uses: id, coupon_id >coupons, order_id >orders, used_at timestamptz
gift_cards: id, code text, balance numeric, bought_in_order_id >orders
shipments: id, order_id >orders, carrier_id >carriers, warehouse_id >warehouses, sent_at timestamptz, delivered_at
    timestamptz, tracking_code text
shipment_items: id, shipment_id >shipments, order_item_id >order_items, quantity int
carriers: id, title text [DHL|UPS|Postnord|GLS]
returns: id, order_id >orders, requested_at timestamptz, received_at timestamptz, reason_id >return_reasons
return_items: id, return_id >returns, order_item_id >order_items, quantity int, condition text
return_reasons: id, label text [Too small|Too large|Damaged|Not as described]
warehouses: id, title text, city text [Hamburg|Lyon], country_code text >countries
stock_levels: id, warehouse_id >warehouses, variant_id >product_variants, on_hand int, reserved int, counted_at
    timestamptz
stock_movements: id, warehouse_id >warehouses, variant_id >product_variants, delta int, kind text, moved_at
    timestamptz
suppliers: id, title text, country_code text >countries, lead_time_days int
supplier_products: supplier_id >suppliers, variant_id >product_variants, cost numeric, minimum_quantity int
purchase_orders: id, supplier_id >suppliers, warehouse_id >warehouses, ordered_on date, expected_on date, state text
purchase_order_lines: id, purchase_order_id >purchase_orders, variant_id >product_variants, quantity int, unit_cost
    numeric
reviews: id, product_id >products, customer_id >customers, stars int, body text, written_at timestamptz
review_votes: id, review_id >reviews, customer_id >customers, is_helpful bool
wishlists: id, customer_id >customers, title text
wishlist_items: wishlist_id >wishlists, variant_id >product_variants, added_at timestamptz
campaigns: id, title text [Summer Sale|Black Friday], started_on date, ended_on date, budget numeric
email_sends: id, campaign_id >campaigns, customer_id >customers, sent_at timestamptz, opened_at timestamptz,
    clicked_at timestamptz
newsletter_subscriptions: id, customer_id >customers, subscribed_at timestamptz, unsubscribed_at timestamptz
web_sessions: id, customer_id >customers, started_at timestamptz, device text [mobile|desktop], referrer text,
    campaign_id >campaigns
page_views: id, session_id >web_sessions, path text, viewed_at timestamptz, product_id >products
search_queries: id, session_id >web_sessions, phrase text, result_count int, searched_at timestamptz
support_tickets: id, customer_id >customers, order_id >orders, subject text, opened_at timestamptz, closed_at
    timestamptz, priority text [low|high|urgent], assigned_to >staff
ticket_messages: id, ticket_id >support_tickets, author text, body text, written_at timestamptz
staff: id, name text, role text, store_id >stores, hired_on date
stores: id, title text, city text [Berlin|Munich], country_code text >countries, opened_on date
loyalty_accounts: id, customer_id >customers, points int, tier text [Gold|Silver|Bronze]
loyalty_transactions: id, account_id >loyalty_accounts, points int, order_id >orders, booked_at timestamptz
audit_log: id, actor text, action text, entity text, entity_id int, logged_at timestamptz
"""

QUESTIONS: tuple[tuple[str, str], ...] = (
    ("How much did each customer spend in 2025?", "customers orders order_items"),
    (
        "Which products were returned most often and why?",
        "products product_variants order_items return_items returns return_reasons",
    ),
    ("Revenue by country and month", "orders order_items addresses countries"),
    ("What share of carts is abandoned on mobile?", "carts web_sessions"),
    ("Average delivery time per carrier", "shipments carriers"),
    ("How long does DHL need from sending to delivery?", "shipments carriers"),
    ("Which suppliers deliver the brand Nordwind?", "suppliers supplier_products product_variants products brands"),
    ("Show stock on hand per warehouse for jackets", "stock_levels warehouses product_variants products categories"),
    ("Which coupons of the Black Friday campaign were used, and how often?", "coupons coupon_uses campaigns"),
    ("Open rate of newsletters per campaign", "email_sends campaigns"),
    ("Do customers with many support tickets buy less?", "customers support_tickets orders"),
    ("Mean stars per product category", "reviews products categories"),
    ("How many refunds were paid because of 'Damaged' goods?", "refunds return_reasons"),
    ("Unpaid invoices older than 30 days with their customers", "invoices orders customers"),
    ("VAT by country for the last quarter", "invoice_lines vat_rates invoices countries"),
    ("Which staff closed the most tickets?", "staff support_tickets"),
    ("Payments that failed, by method", "payments payment_methods"),
    ("What do people search for without finding anything?", "search_queries"),
    ("Conversion of sessions from search to order", "web_sessions search_queries orders"),
    ("How many points do Gold members have?", "loyalty_accounts"),
    ("Points earned per order", "loyalty_transactions orders"),
    ("Which variants are below their reserved quantity?", "stock_levels product_variants"),
    ("Purchase orders that are late, by supplier", "purchase_orders suppliers"),
    (
        "What did we pay for what we bought in, per supplier and month?",
        "purchase_orders purchase_order_lines suppliers",
    ),
    ("Gross margin per product", "products product_variants order_items supplier_products"),
    ("Which wishlists contain things that are out of stock?", "wishlists wishlist_items stock_levels"),
    ("How many customers in Berlin ordered twice?", "customers addresses orders"),
    ("Sales by channel since January", "orders order_items sales_channels"),
    ("Which page views lead to a purchase of tents?", "page_views web_sessions products categories orders"),
    (
        "How many VIP customers unsubscribed from the newsletter?",
        "customers customer_segments newsletter_subscriptions",
    ),
    ("List prices in Euro that changed this year", "prices price_lists currencies"),
    ("Convert order totals with the exchange rate of the day", "orders order_items exchange_rates"),
    ("How many items per shipment?", "shipments shipment_items"),
    ("Which gift cards still have a balance?", "gift_cards"),
    ("Helpful votes per review", "review_votes reviews"),
    ("Who referred the most customers?", "customers"),
    ("Which stores opened in Munich and who works there?", "stores staff"),
    ("Time from order to first event 'packed'", "order_events orders"),
    ("Products tagged 'vegan' with their images", "products product_tags tags product_images"),
    ("First reply time for urgent tickets", "support_tickets ticket_messages"),
    ("Do people who use Klarna return more?", "payments payment_methods orders returns"),
    ("Black XL variants sold last week", "product_variants order_items orders"),
    ("Movements of stock in Hamburg", "stock_movements warehouses"),
    ("Which brands come from Norway?", "brands countries"),
    ("How much revenue did e-mail campaigns bring?", "email_sends campaigns orders order_items customers"),
    ("Cost of discounts by coupon", "coupons coupon_uses orders order_items"),
    ("Which category has the heaviest products?", "categories products"),
    ("What was added to carts but never ordered?", "cart_items carts orders order_items"),
    ("Who changed this entity last?", "audit_log"),
    ("Lifetime value by customer segment", "customers customer_segments orders order_items"),
)  # fmt: skip
"""What people ask, with every table that is needed; written before any choice was tried."""


def shop_catalogue() -> Catalogue:
    """The shop alone."""
    return Catalogue(
        tables=tuple(_table("public", line) for line in _SHOP.strip().replace("\n    ", " ").splitlines()),
        default_schema="public",
    )


def large_catalogue(count: int = 900) -> Catalogue:
    """The shop among tables of other departments, which have much the same words in their names."""
    shop = shop_catalogue()
    parts = ("hr", "crm", "fin", "legacy", "stg", "etl", "mkt", "log", "ops", "risk", "clinic", "fleet", "lab", "iot")
    nouns = (
        "employee", "contract", "ledger", "account", "visit", "vehicle", "route", "sensor", "reading", "claim",
        "policy", "patient", "sample", "ticket", "product", "order", "shipment", "customer", "invoice", "budget",
    )  # fmt: skip
    kinds = ("", "_history", "_daily", "_snapshot")
    others = [
        _table(
            part,
            f"{part}_{noun}{kind}: id, {noun}_code text, {noun}_type text [A|B|C], status text [open|closed], "
            f"created_at timestamptz, amount numeric, owner text"
            + (f", parent_id >{part}.{part}_{noun}" if kind else ""),
        )
        for noun, kind, part in product(nouns, kinds, parts)
    ]
    return Catalogue(tables=(*shop.tables, *others[: count - len(shop.tables)]), default_schema="public")


def _table(schema: str, line: str) -> CatalogueTable:
    name, _, rest = line.partition(": ")
    columns, keys = [], []
    for part in rest.split(", "):
        head, _, samples = part.partition(" [")
        head, _, target = head.partition(">")
        column, _, kind = head.strip().partition(" ")
        is_text = kind.strip() or ("text" if column.endswith("code") else "int")
        columns.append(
            CatalogueColumn(
                name=column,
                type=is_text,
                is_key=column in {"id", "code"},
                samples=tuple(samples.rstrip("]").split("|")) if samples else (),
            )
        )
        if target:
            qualified = target if "." in target else f"{schema}.{target}"
            key = "code" if target in {"countries", "currencies"} else "id"
            keys.append(ForeignKey(columns=(column,), table=qualified, target=(key,)))
    return CatalogueTable(schema=schema, name=name, columns=tuple(columns), foreign_keys=tuple(keys), rows=1_000)
