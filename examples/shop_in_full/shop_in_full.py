# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "altair==6.3.0",
#     "marimo==0.25.2",
#     "numpy==2.4.6",
#     "pandas==3.1.1",
#     "scipy==1.17.1",
# ]
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell(hide_code=True)
def answer(answer_sentences, escaped, mo):
    mo.md(
        r"""# Why amount (EUR) changed: Q3 2025

    """
        + "\n".join(f"- {escaped(sentence, 600)}" for sentence in answer_sentences if sentence)
    )
    return


@app.cell(hide_code=True)
def about_the_findings(mo, tests):
    mo.md(rf"""
    ## Findings

    Of {len(tests):,} tests, **{int(tests["is_finding"].sum()):,}** are findings: certain enough with all tests taken together, and strong enough to matter. Here are those that were asked for and the strongest of the others. Each sentence is made from its row in the table of tests: switch a repair, and it changes, or says that it no longer holds.
    """)
    return


@app.cell(hide_code=True)
def amount_change_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR), Q3 2025 against the same time a year before

    Whether amount (EUR) differs between the two spans of time that were asked for.
    """)
    return


@app.cell
def amount_change_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_change_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "order_date", "change"),
        {"amount": "amount (EUR)", "order_date": "order date"},
    )
    amount_change_finding_claim = say(amount_change_finding)
    mo.md(f"{amount_change_finding_claim} {escaped(could_be_seen(amount_change_finding))}")
    return (amount_change_finding,)


@app.cell
def amount_change_finding_chart(
    alt,
    amount_change_finding,
    chart_headline,
    orders_with_customers,
    points_over_time,
    usual_range,
    with_spans,
):
    _title = chart_headline(amount_change_finding, "Amount (EUR), Q3 2025 against the same time a year before")
    _spans = [["2024-07-01", "2024-09-30"], ["2025-07-01", "2025-09-30"]]
    _shown = with_spans(points_over_time(orders_with_customers, "amount", "order_date", most=180, how="sum"), _spans)
    _step = _shown["step"].iloc[0] if len(_shown) else "day"
    _scale = alt.Scale(domain=usual_range(_shown["value"]))
    alt.Chart(_shown, title=_title).mark_line(point=alt.OverlayMarkDef(size=18), clip=True).encode(
        x=alt.X("time:T", title="order date"),
        y=alt.Y("value:Q", title=f"sum per {_step}: " + "amount (EUR)", scale=_scale),
        color=alt.Color("span:N", title="span", sort=None, scale=alt.Scale(range=["#0072B2", "#D55E00", "#999999"])),
        detail="stretch:N",
        tooltip=[
            alt.Tooltip("time:T", title="order date"),
            alt.Tooltip("value:Q", title="amount (EUR)", format=",.4~r"),
            alt.Tooltip("count:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=280).interactive(bind_y=False)
    return


@app.cell(hide_code=True)
def amount_change_finding_parts_words(mo):
    mo.md(r"""
    ### What the change of amount (EUR) comes from

    The change of the total between the two spans, taken apart: the parts add up to it exactly. `amount` is what comes from more or fewer rows, `rate` from other values in them. The column first chosen is the one with a label that makes up far more of the change than its size would lead one to expect.
    """)
    return


@app.cell
def amount_change_finding_parts(explain_change, orders_with_customers):
    _spans = [["2024-07-01", "2024-09-30"], ["2025-07-01", "2025-09-30"]]
    _columns = {
        "product group": "product_group", "channel": "channel", "packed by": "packed_by",
        "city": "city", "region": "region", "region code": "region_code", "segment": "segment",
        "newsletter": "newsletter",
    }
    amount_change_finding_parts = {
        _label: explain_change(orders_with_customers, "amount", "order_date", *_spans, _column, how="sum")
        for _label, _column in _columns.items()
    }
    return (amount_change_finding_parts,)


@app.cell
def amount_change_finding_by(amount_change_finding_parts, mo, telling_order):
    amount_change_finding_by = mo.ui.dropdown(
        list(amount_change_finding_parts), value=telling_order(amount_change_finding_parts)[0], label="Parts by"
    )
    amount_change_finding_by
    return (amount_change_finding_by,)


@app.cell
def amount_change_finding_parts_chart(
    alt,
    amount_change_finding_by,
    amount_change_finding_parts,
    largest_parts,
):
    _shown = largest_parts(amount_change_finding_parts[amount_change_finding_by.value])
    _title = f"Contribution to the change, by {amount_change_finding_by.value}"
    alt.Chart(_shown, title=_title).mark_bar().encode(
        y=alt.Y("label:N", sort=None, title=amount_change_finding_by.value, axis=alt.Axis(labelLimit=220)),
        x=alt.X("change:Q", title="change of amount (EUR)"),
        color=alt.condition("datum.change < 0", alt.value("#D55E00"), alt.value("#0072B2")),
        tooltip=[
            alt.Tooltip("label:N", title="part"),
            alt.Tooltip("first:Q", title="first span", format=",.4~r"),
            alt.Tooltip("second:Q", title="second span", format=",.4~r"),
            alt.Tooltip("change:Q", title="change", format="+,.4~r"),
            alt.Tooltip("amount:Q", title="from more or fewer rows", format="+,.4~r"),
            alt.Tooltip("rate:Q", title="from other values", format="+,.4~r"),
            alt.Tooltip("share:Q", title="share of the change", format=".0%"),
        ],
    ).properties(width="container", height=alt.Step(26))
    return


@app.cell
def amount_change_finding_because(
    amount_change_finding,
    amount_change_finding_parts,
    escaped,
    mo,
    why_it_changed,
):
    amount_change_finding_because = why_it_changed(amount_change_finding, amount_change_finding_parts, "total")
    mo.md(escaped(amount_change_finding_because))
    return (amount_change_finding_because,)


@app.cell(hide_code=True)
def amount_by_segment_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR) by segment

    Whether amount (EUR) differs between the groups of segment. Light bars hold the middle half of the values, dots are medians, dark lines say between what the true median is likely (95 %).
    """)
    return


@app.cell
def amount_by_segment_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_by_segment_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "segment", "difference"),
        {"amount": "amount (EUR)"},
    )
    amount_by_segment_finding_claim = say(amount_by_segment_finding)
    mo.md(f"{amount_by_segment_finding_claim} {escaped(could_be_seen(amount_by_segment_finding))}")
    return (amount_by_segment_finding,)


@app.cell
def amount_by_segment_finding_chart(
    alt,
    amount_by_segment_finding,
    chart_headline,
    group_summary,
    orders_with_customers,
):
    _title = chart_headline(amount_by_segment_finding, "Amount (EUR) by segment")
    _shown = group_summary(orders_with_customers, "amount", "segment")
    _base = alt.Chart(_shown, title=_title).encode(
        y=alt.Y("group:N", sort=None, title="segment", axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("group:N", title="segment"),
            alt.Tooltip("count:Q", title="rows", format=","),
            alt.Tooltip("median:Q", title="median", format=",.4~r"),
            alt.Tooltip("low:Q", title="median, 95 % interval from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
        ],
    )
    _x = alt.X("quarter:Q", title="amount (EUR)", scale=alt.Scale(zero=False))
    _middle_half = _base.mark_bar(size=14, opacity=0.3, color="#0072B2").encode(x=_x, x2="three_quarters:Q")
    _interval = _base.mark_rule(strokeWidth=4, color="#0072B2").encode(x="low:Q", x2="high:Q")
    _median = _base.mark_point(filled=True, size=90, color="#D55E00").encode(x="median:Q")
    (_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
    return


@app.cell(hide_code=True)
def amount_by_product_group_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR) by product group

    Whether amount (EUR) differs between the groups of product group. Light bars hold the middle half of the values, dots are medians, dark lines say between what the true median is likely (95 %).
    """)
    return


@app.cell
def amount_by_product_group_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_by_product_group_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "product_group", "difference"),
        {"amount": "amount (EUR)", "product_group": "product group"},
    )
    amount_by_product_group_finding_claim = say(amount_by_product_group_finding)
    mo.md(f"{amount_by_product_group_finding_claim} {escaped(could_be_seen(amount_by_product_group_finding))}")
    return (amount_by_product_group_finding,)


@app.cell
def amount_by_product_group_finding_chart(
    alt,
    amount_by_product_group_finding,
    chart_headline,
    group_summary,
    orders_with_customers,
):
    _title = chart_headline(amount_by_product_group_finding, "Amount (EUR) by product group")
    _shown = group_summary(orders_with_customers, "amount", "product_group")
    _base = alt.Chart(_shown, title=_title).encode(
        y=alt.Y("group:N", sort=None, title="product group", axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("group:N", title="product group"),
            alt.Tooltip("count:Q", title="rows", format=","),
            alt.Tooltip("median:Q", title="median", format=",.4~r"),
            alt.Tooltip("low:Q", title="median, 95 % interval from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
        ],
    )
    _x = alt.X("quarter:Q", title="amount (EUR)", scale=alt.Scale(zero=False))
    _middle_half = _base.mark_bar(size=14, opacity=0.3, color="#0072B2").encode(x=_x, x2="three_quarters:Q")
    _interval = _base.mark_rule(strokeWidth=4, color="#0072B2").encode(x="low:Q", x2="high:Q")
    _median = _base.mark_point(filled=True, size=90, color="#D55E00").encode(x="median:Q")
    (_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
    return


@app.cell(hide_code=True)
def amount_and_weight_kg_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR) and weight (kg)

    Whether amount (EUR) and weight (kg) rise and fall together. Points are rows (a sample where there are many), the line follows the medians; where there are very many rows, brighter fields hold more of them.
    """)
    return


@app.cell
def amount_and_weight_kg_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_and_weight_kg_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "weight_kg", "correlation"),
        {"amount": "amount (EUR)", "weight_kg": "weight (kg)"},
    )
    amount_and_weight_kg_finding_claim = say(amount_and_weight_kg_finding)
    mo.md(f"{amount_and_weight_kg_finding_claim} {escaped(could_be_seen(amount_and_weight_kg_finding))}")
    return (amount_and_weight_kg_finding,)


@app.cell
def amount_and_weight_kg_finding_chart(
    alt,
    amount_and_weight_kg_finding,
    chart_headline,
    density_of_pairs,
    orders_with_customers,
):
    _title = chart_headline(amount_and_weight_kg_finding, "Amount (EUR) and weight (kg)")
    alt.Chart(density_of_pairs(orders_with_customers, "amount", "weight_kg"), title=_title).mark_rect().encode(
        x=alt.X("x:Q", title="weight (kg)", scale=alt.Scale(zero=False)),
        x2="x_end:Q",
        y=alt.Y("y:Q", title="amount (EUR)", scale=alt.Scale(zero=False)),
        y2="y_end:Q",
        color=alt.Color("count:Q", title="rows", scale=alt.Scale(scheme="cividis", type="sqrt")),
        tooltip=[
            alt.Tooltip("x:Q", title="weight (kg)", format=",.4~r"),
            alt.Tooltip("y:Q", title="amount (EUR)", format=",.4~r"),
            alt.Tooltip("count:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=320)
    return


@app.cell(hide_code=True)
def amount_and_quantity_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR) and quantity

    Whether amount (EUR) and quantity rise and fall together. Points are rows (a sample where there are many), the line follows the medians; where there are very many rows, brighter fields hold more of them.
    """)
    return


@app.cell
def amount_and_quantity_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_and_quantity_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "quantity", "correlation"),
        {"amount": "amount (EUR)"},
    )
    amount_and_quantity_finding_claim = say(amount_and_quantity_finding)
    mo.md(f"{amount_and_quantity_finding_claim} {escaped(could_be_seen(amount_and_quantity_finding))}")
    return (amount_and_quantity_finding,)


@app.cell
def amount_and_quantity_finding_chart(
    alt,
    amount_and_quantity_finding,
    chart_headline,
    density_of_pairs,
    orders_with_customers,
):
    _title = chart_headline(amount_and_quantity_finding, "Amount (EUR) and quantity")
    alt.Chart(density_of_pairs(orders_with_customers, "amount", "quantity"), title=_title).mark_rect().encode(
        x=alt.X("x:Q", title="quantity", scale=alt.Scale(zero=False)),
        x2="x_end:Q",
        y=alt.Y("y:Q", title="amount (EUR)", scale=alt.Scale(zero=False)),
        y2="y_end:Q",
        color=alt.Color("count:Q", title="rows", scale=alt.Scale(scheme="cividis", type="sqrt")),
        tooltip=[
            alt.Tooltip("x:Q", title="quantity", format=",.4~r"),
            alt.Tooltip("y:Q", title="amount (EUR)", format=",.4~r"),
            alt.Tooltip("count:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=320)
    return


@app.cell(hide_code=True)
def amount_season_finding_words(mo):
    mo.md(r"""
    ### Amount (EUR) through the calendar

    Whether amount (EUR) follows the calendar. Light bars hold the middle half of the values, the line the means.
    """)
    return


@app.cell
def amount_season_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    amount_season_finding = with_labels(
        claim(tests, "orders_with_customers", "amount", "order_date", "season"),
        {"amount": "amount (EUR)", "order_date": "order date"},
    )
    amount_season_finding_claim = say(amount_season_finding)
    mo.md(f"{amount_season_finding_claim} {escaped(could_be_seen(amount_season_finding))}")
    return (amount_season_finding,)


@app.cell
def amount_season_finding_chart(
    alt,
    amount_season_finding,
    chart_headline,
    orders_with_customers,
    season_profile,
):
    _title = chart_headline(amount_season_finding, "Amount (EUR) through the calendar")
    _shown = season_profile(orders_with_customers, "amount", "order_date", "weekday")
    _base = alt.Chart(_shown, title=_title).encode(
        x=alt.X("name:N", sort=None, title="weekday", axis=alt.Axis(labelAngle=0)),
        tooltip=[
            alt.Tooltip("name:N", title="weekday"),
            alt.Tooltip("value:Q", title="mean", format=",.4~r"),
            alt.Tooltip("count:Q", title="rows", format=","),
        ],
    )
    _y = alt.Y("quarter:Q", title="amount (EUR)", scale=alt.Scale(zero=False))
    _middle_half = _base.mark_bar(size=12, opacity=0.3, color="#0072B2").encode(y=_y, y2="three_quarters:Q")
    _mean = _base.mark_line(color="#D55E00", point=True).encode(y="value:Q")
    (_middle_half + _mean).properties(width="container", height=280)
    return


@app.cell(hide_code=True)
def shipping_days_by_channel_finding_words(mo):
    mo.md(r"""
    ### Shipping days by channel

    Whether shipping days differs between the groups of channel. Light bars hold the middle half of the values, dots are medians, dark lines say between what the true median is likely (95 %).
    """)
    return


@app.cell
def shipping_days_by_channel_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    shipping_days_by_channel_finding = with_labels(
        claim(tests, "orders_with_customers", "shipping_days", "channel", "difference"),
        {"shipping_days": "shipping days"},
    )
    shipping_days_by_channel_finding_claim = say(shipping_days_by_channel_finding)
    mo.md(f"{shipping_days_by_channel_finding_claim} {escaped(could_be_seen(shipping_days_by_channel_finding))}")
    return (shipping_days_by_channel_finding,)


@app.cell
def shipping_days_by_channel_finding_chart(
    alt,
    chart_headline,
    group_summary,
    orders_with_customers,
    shipping_days_by_channel_finding,
):
    _title = chart_headline(shipping_days_by_channel_finding, "Shipping days by channel")
    _shown = group_summary(orders_with_customers, "shipping_days", "channel")
    _base = alt.Chart(_shown, title=_title).encode(
        y=alt.Y("group:N", sort=None, title="channel", axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("group:N", title="channel"),
            alt.Tooltip("count:Q", title="rows", format=","),
            alt.Tooltip("median:Q", title="median", format=",.4~r"),
            alt.Tooltip("low:Q", title="median, 95 % interval from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
        ],
    )
    _x = alt.X("quarter:Q", title="shipping days", scale=alt.Scale(zero=False))
    _middle_half = _base.mark_bar(size=14, opacity=0.3, color="#0072B2").encode(x=_x, x2="three_quarters:Q")
    _interval = _base.mark_rule(strokeWidth=4, color="#0072B2").encode(x="low:Q", x2="high:Q")
    _median = _base.mark_point(filled=True, size=90, color="#D55E00").encode(x="median:Q")
    (_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
    return


@app.cell(hide_code=True)
def quantity_by_segment_finding_words(mo):
    mo.md(r"""
    ### Quantity by segment

    Whether quantity differs between the groups of segment. Light bars hold the middle half of the values, dots are medians, dark lines say between what the true median is likely (95 %).
    """)
    return


@app.cell
def quantity_by_segment_finding(
    claim,
    could_be_seen,
    escaped,
    mo,
    say,
    tests,
    with_labels,
):
    quantity_by_segment_finding = with_labels(
        claim(tests, "orders_with_customers", "quantity", "segment", "difference"),
        {},
    )
    quantity_by_segment_finding_claim = say(quantity_by_segment_finding)
    mo.md(f"{quantity_by_segment_finding_claim} {escaped(could_be_seen(quantity_by_segment_finding))}")
    return (quantity_by_segment_finding,)


@app.cell
def quantity_by_segment_finding_chart(
    alt,
    chart_headline,
    group_summary,
    orders_with_customers,
    quantity_by_segment_finding,
):
    _title = chart_headline(quantity_by_segment_finding, "Quantity by segment")
    _shown = group_summary(orders_with_customers, "quantity", "segment")
    _base = alt.Chart(_shown, title=_title).encode(
        y=alt.Y("group:N", sort=None, title="segment", axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("group:N", title="segment"),
            alt.Tooltip("count:Q", title="rows", format=","),
            alt.Tooltip("median:Q", title="median", format=",.4~r"),
            alt.Tooltip("low:Q", title="median, 95 % interval from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
        ],
    )
    _x = alt.X("quarter:Q", title="quantity", scale=alt.Scale(zero=False))
    _middle_half = _base.mark_bar(size=14, opacity=0.3, color="#0072B2").encode(x=_x, x2="three_quarters:Q")
    _interval = _base.mark_rule(strokeWidth=4, color="#0072B2").encode(x="low:Q", x2="high:Q")
    _median = _base.mark_point(filled=True, size=90, color="#D55E00").encode(x="median:Q")
    (_middle_half + _interval + _median).properties(width="container", height=alt.Step(28))
    return


@app.cell(hide_code=True)
def what_to_keep_in_mind(mo):
    mo.md(r"""
    ## What to keep in mind

    - The data was observed, not made in an experiment: what goes together need not cause each other.
    - Amount (EUR) by segment: the test noticed one row for each postcode (581), since rows of one postcode are alike; smallest group 198; similar spread.
    - Amount (EUR) by product group: the test noticed smallest group 13; unequal spread.
    - Missing in orders: shipping\_days (22 %). Tests use the rows that are there; if what is missing is not missing by chance, they are off.
    - Missing in customers: satisfaction (29 %). Tests use the rows that are there; if what is missing is not missing by chance, they are off.
    - Only pairs of columns, and measures over time, were tested. Relations of three columns or more, and of free text, were not looked at.
    """)
    return


@app.cell(hide_code=True)
def what_to_ask_next(mo):
    mo.md(r"""
    ## What to ask next

    - Does amount (EUR) still differ by product group among rows of the same channel?
    - Do amount (EUR) and weight (kg) go together within each product group, or is there a common cause?
    - Is the season of amount (EUR) the same in every year?
    - What happened besides while amount (EUR) changed: prices, scope, the way it is counted?
    - Why is satisfaction missing in 29% of the rows, and who could fill it in?
    """)
    return


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    orders_csv = data_folder / "../data/orders.csv"
    customers_csv = data_folder / "../data/customers.csv"
    return customers_csv, orders_csv


@app.cell
def libraries():
    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import stats

    return alt, np, pd, stats


@app.cell(hide_code=True)
def about_orders(mo):
    mo.md(r"""
    ## orders

    5,226 rows and 11 columns: order\_id, order\_date, customer\_id, product\_group, channel, quantity, amount, shipping\_days and 3 more. Read from data/orders.csv. By order\_date it covers 2024-01-01 to 2025-12-31. 28 days in between have no row, the longest 2025-02-01 to 2025-02-28.
    """)
    return


@app.cell
def read_orders(orders_csv, pd):
    orders_as_read = pd.read_csv(
        orders_csv, sep=";", encoding="utf-8", encoding_errors="replace", usecols=range(11),
        index_col=False, dtype="str", keep_default_na=False, na_values=[""],
    )
    orders_as_read.head(5)
    return (orders_as_read,)


@app.cell(hide_code=True)
def about_customers(mo):
    mo.md(r"""
    ## customers

    600 rows and 10 columns: customer\_id, city, postcode, region, region\_code, segment, joined, birth\_year and 2 more. Each row is named by customer\_id. Read from data/customers.csv. By joined it covers 2019-01-03 to 2023-12-29.
    """)
    return


@app.cell
def read_customers(customers_csv, pd):
    customers_as_read = pd.read_csv(
        customers_csv, sep=",", encoding="cp1252", encoding_errors="replace", index_col=False,
        dtype="str", keep_default_na=False, na_values=[""],
    )
    customers_as_read.head(5)
    return (customers_as_read,)


@app.cell(hide_code=True)
def how_far_to_trust_it(mo):
    mo.md(r"""
    ## How far to trust the data

    **orders.** Use it with care: 2 serious problems and 10 lesser ones, listed below. 2 % of its values are missing. Values are not missing by chance in shipping\_days (whenever channel is 'Store' (100 % of those rows)): what is left may not stand for all.

    **customers.** Use it with care: 1 serious problem, listed below. 3 % of its values are missing. Values are not missing by chance in satisfaction (mostly when segment is 'Business' (74.3 % of those rows)): what is left may not stand for all.
    """)
    return


@app.cell(hide_code=True)
def orders_quality(mo):
    mo.md(r"""
    ### Problems of orders

    What was found in the file, the gravest first, and what could be done about it.
    """)
    return


@app.cell
def orders_problems(mo, pd):
    orders_problems = pd.DataFrame(
        [
            ["problem", "shipping_days", "shipping_days holds 9999 in 38 rows, far from all other values (1 to 10).", 38, "switch: sentinels"],
            ["problem", "order_id", "2 rows of order_id are labelled 'Total 2024', 'Total 2025': sums among the data.", 2, "switch: total rows"],
            ["warning", "amount", "amount holds money as text, with '€' at the number.", 5223, "switch: numbers as text"],
            ["warning", "amount", "amount writes decimals with a comma.", 5223, "switch: numbers as text"],
            ["warning", "order_date", "order_date writes dates in 2 ways: %Y-%m-%d (4,391), %d.%m.%Y (832).", 832, "switch: dates in several formats"],
            ["warning", "product_group", "product_group spells what is most likely one label in 4 ways: 'Kitchen' (1,214), 'Kichen' (14), 'Kitchen ' (14), 'kitchen' (14).", 42, "switch: similar labels"],
            ["warning", "product_group", "product_group spells what is most likely one label in 3 ways: 'Lighting' (842), 'Lightning' (15), 'LIGHTING' (13).", 28, "switch: similar labels"],
            ["warning", "", "24 rows (0.5 %) repeat an earlier row exactly.", 24, "switch: duplicate rows"],
            ["warning", "product_group", "product_group has spaces around its text in 14 rows, such as 'Kitchen '.", 14, "switch: spaces around text"],
            ["warning", "amount", "amount has 9 values far from the rest: '16.906,95 €', '10.688,19 €', '10.686,40 €', where all others lie between 11.08 and 751.82.", 9, "switch: outliers"],
            ["warning", "", "2 lines at the end are notes, no rows, and are left out.", 2, "switch: footnotes"],
            ["warning", "", "The line of names is repeated 1 time among the rows.", 1, "switch: repeated headers"],
            ["note", "weight_kg", "weight_kg is strongly skewed to the right (middle 2.47); the highest tenth makes up 37.1 % of the sum.", 5223, "know of it"],
            ["note", "weight_g", "weight_g is strongly skewed to the right (middle 2470); the highest tenth makes up 37.1 % of the sum.", 5223, "know of it"],
        ],
        columns=["how grave", "column", "what", "how many", "repair"],
    )
    mo.ui.table(orders_problems, selection=None, wrapped_columns=["what"], show_column_summaries=False)
    return


@app.cell(hide_code=True)
def orders_repairs_explained(mo):
    mo.md(r"""
    ### Repairs of orders

    Each is a switch: turn one, and everything below is computed again. On from the start, because they are certain: footnotes, repeated headers, total rows, spaces around text, numbers as text, dates in several formats and sentinels. Off, because they are a matter of judgement: duplicate rows, outliers and similar labels.
    """)
    return


@app.cell
def orders_repairs(mo):
    orders_repairs = mo.ui.dictionary(
        {
            "footnotes": mo.ui.switch(value=True, label="**footnotes** below the table are dropped: 2 rows"),
            "repeated headers": mo.ui.switch(value=True, label="**repeated headers** among the rows are dropped: 1 row"),
            "total rows": mo.ui.switch(value=True, label="**total rows** are dropped: they would be counted twice (Total 2024 and Total 2025) in order\\_id: 2 rows"),
            "duplicate rows": mo.ui.switch(value=False, label="**duplicate rows** are dropped but for the first of each: 24 rows"),
            "spaces around text": mo.ui.switch(value=True, label="**spaces around text** are taken off (Kitchen) in product\\_group: 14 values"),
            "numbers as text": mo.ui.switch(value=True, label="**numbers as text** are read with their signs taken off; off: such values are missing: amount"),
            "dates in several formats": mo.ui.switch(value=True, label="**dates in several formats** are all read; off: only those in the commonest format: order\\_date"),
            "sentinels": mo.ui.switch(value=True, label="**sentinels** that stand for nothing become missing (9999) in shipping\\_days: 38 values"),
            "outliers": mo.ui.switch(value=False, label="**outliers** far from all other values become missing (16.906,95 €, 10.688,19 €, 10.686,40 €, 7.785,87 € and 5 more) in amount: 9 values"),
            "similar labels": mo.ui.switch(value=False, label="**similar labels** are written as the commonest of them (Kitchen, Kichen, Kitchen, kitchen and 3 more) in product\\_group: 70 values"),
        }
    )
    orders_repairs.vstack()
    return (orders_repairs,)


@app.cell
def orders_kept(orders_as_read, orders_repairs, pd):
    _texts = orders_as_read
    # Which rows each repair is about; those whose switch is on are dropped.
    orders_dropped = {
        "footnotes": pd.Series(orders_as_read.index >= 5226, index=orders_as_read.index),
        "repeated headers": (_texts == list(_texts.columns)).sum(axis=1) * 2 > _texts.notna().sum(axis=1),
        "total rows": _texts["order_id"].str.strip().isin(["Total 2024", "Total 2025"]),
        "duplicate rows": _texts.duplicated(),
    }
    orders_kept = orders_as_read
    for _name, _mask in orders_dropped.items():
        if orders_repairs.value[_name]:
            orders_kept = orders_kept[~_mask.reindex(orders_kept.index)]
    return orders_dropped, orders_kept


@app.cell
def orders_cleaned(orders_kept, orders_repairs):
    orders_cleaned = orders_kept.copy()
    orders_text_counts = dict.fromkeys(["spaces around text"], 0)
    for _column in ["product_group"]:
        _texts = orders_kept[_column].astype(str).str.strip()
        orders_text_counts["spaces around text"] += int(((_texts != orders_kept[_column]) & _texts.notna()).sum())
        if orders_repairs.value["spaces around text"]:
            orders_cleaned[_column] = _texts
    return orders_cleaned, orders_text_counts


@app.cell
def orders_typed(as_date, as_number, orders_cleaned, orders_repairs):
    # Text becomes numbers, dates and flags. What cannot be read is missing, and counted.
    orders_typed = orders_cleaned.copy()
    orders_read_counts = dict.fromkeys(["numbers as text", "dates in several formats", "could not be read"], 0)
    for _column, _how in {"amount": {"decimal": ",", "thousands": ".", "suffix": "€"}}.items():
        _plain, _read = as_number(orders_cleaned[_column]), as_number(orders_cleaned[_column], **_how)
        orders_read_counts["numbers as text"] += int((_read.notna() & (_read != _plain)).sum())
        orders_typed[_column] = _read if orders_repairs.value["numbers as text"] else _plain
    for _column in ["quantity", "shipping_days", "weight_kg", "weight_g"]:
        orders_typed[_column] = as_number(orders_cleaned[_column])
    for _column, _formats in {"order_date": ["%Y-%m-%d", "%d.%m.%Y"]}.items():
        _plain, _read = as_date(orders_cleaned[_column], _formats[:1]), as_date(orders_cleaned[_column], _formats)
        orders_read_counts["dates in several formats"] += int((_read.notna() & _plain.isna()).sum())
        orders_typed[_column] = _read if orders_repairs.value["dates in several formats"] else _plain
    _lost = orders_cleaned.notna() & orders_typed.isna()
    orders_read_counts["could not be read"] = int(_lost.to_numpy().sum())
    return orders_read_counts, orders_typed


@app.cell
def orders(orders_repairs, orders_typed):
    orders = orders_typed.copy()
    orders_value_counts = dict.fromkeys(["sentinels", "outliers", "similar labels"], 0)
    for _column, _values in {"shipping_days": [9999]}.items():
        _found = orders_typed[_column].isin(_values)
        orders_value_counts["sentinels"] += int(_found.sum())
        if orders_repairs.value["sentinels"]:
            orders[_column] = orders[_column].mask(_found)
    for _column, _values in {"amount": [16906.95, 10688.19, 10686.4, 7785.87, 6483.81, 5360.83, 2716.52, 2622.37, 1659.68]}.items():
        _found = orders_typed[_column].isin(_values)
        orders_value_counts["outliers"] += int(_found.sum())
        if orders_repairs.value["outliers"]:
            orders[_column] = orders[_column].mask(_found)
    for _column, _labels in {
        "product_group": {"Kichen": "Kitchen", "Kitchen ": "Kitchen", "kitchen": "Kitchen", "Lightning": "Lighting", "LIGHTING": "Lighting"},
    }.items():
        _found = orders_typed[_column].isin(list(_labels))
        orders_value_counts["similar labels"] += int(_found.sum())
        if orders_repairs.value["similar labels"]:
            orders[_column] = orders[_column].replace(_labels)
    return orders, orders_value_counts


@app.cell(hide_code=True)
def orders_rows_used(mo, orders, orders_as_read):
    mo.md(rf"""
    Of {len(orders_as_read):,} rows as read, {len(orders):,} are used: {len(orders_as_read) - len(orders):,} dropped. What each repair touches, whether it is on or off:
    """)
    return


@app.cell
def orders_repaired(
    mo,
    orders_dropped,
    orders_read_counts,
    orders_repairs,
    orders_text_counts,
    orders_value_counts,
    pd,
):
    _touched = {
        **{_name: int(_mask.sum()) for _name, _mask in orders_dropped.items()},
        **orders_text_counts,
        **orders_read_counts,
        **orders_value_counts,
    }
    orders_repaired = pd.DataFrame(
        [
            {"repair": _name, "is on": orders_repairs.value.get(_name, True), "touches": _count}
            for _name, _count in _touched.items()
        ],
        columns=["repair", "is on", "touches"],
    )
    mo.ui.table(orders_repaired, selection=None, show_column_summaries=False)
    return (orders_repaired,)


@app.cell(hide_code=True)
def customers_quality(mo):
    mo.md(r"""
    ### Problems of customers

    What was found in the file, the gravest first, and what could be done about it.
    """)
    return


@app.cell
def customers_problems(mo, pd):
    customers_problems = pd.DataFrame(
        [
            ["problem", "birth_year", "birth_year holds 9999 in 18 rows, far from all other values (1938 to 2006).", 18, "switch: sentinels"],
            ["note", "postcode", "postcode has digits with leading zeros such as '02124': kept as text.", 97, "know of it"],
            ["note", "", "Nothing in the file says how its characters are encoded; it was read as cp1252.", 0, "know of it"],
        ],
        columns=["how grave", "column", "what", "how many", "repair"],
    )
    mo.ui.table(customers_problems, selection=None, wrapped_columns=["what"], show_column_summaries=False)
    return


@app.cell(hide_code=True)
def customers_repairs_explained(mo):
    mo.md(r"""
    ### Repairs of customers

    Each is a switch: turn one, and everything below is computed again. On from the start, because they are certain: sentinels.
    """)
    return


@app.cell
def customers_repairs(mo):
    customers_repairs = mo.ui.dictionary(
        {
            "sentinels": mo.ui.switch(value=True, label="**sentinels** that stand for nothing become missing (9999) in birth\\_year: 18 values"),
        }
    )
    customers_repairs.vstack()
    return (customers_repairs,)


@app.cell
def customers_typed(as_date, as_flag, as_number, customers_as_read):
    # Text becomes numbers, dates and flags. What cannot be read is missing, and counted.
    customers_typed = customers_as_read.copy()
    customers_read_counts = dict.fromkeys(["could not be read"], 0)
    for _column in ["birth_year", "satisfaction"]:
        customers_typed[_column] = as_number(customers_as_read[_column])
    for _column, _formats in {"joined": ["%d.%m.%Y"]}.items():
        customers_typed[_column] = as_date(customers_as_read[_column], _formats)
    customers_typed["newsletter"] = as_flag(customers_as_read["newsletter"], ["yes"], ["no"])
    _lost = customers_as_read.notna() & customers_typed.isna()
    customers_read_counts["could not be read"] = int(_lost.to_numpy().sum())
    return customers_read_counts, customers_typed


@app.cell
def customers(customers_repairs, customers_typed):
    customers = customers_typed.copy()
    customers_value_counts = dict.fromkeys(["sentinels"], 0)
    for _column, _values in {"birth_year": [9999]}.items():
        _found = customers_typed[_column].isin(_values)
        customers_value_counts["sentinels"] += int(_found.sum())
        if customers_repairs.value["sentinels"]:
            customers[_column] = customers[_column].mask(_found)
    return customers, customers_value_counts


@app.cell(hide_code=True)
def customers_rows_used(customers, customers_as_read, mo):
    mo.md(rf"""
    Of {len(customers_as_read):,} rows as read, {len(customers):,} are used: {len(customers_as_read) - len(customers):,} dropped. What each repair touches, whether it is on or off:
    """)
    return


@app.cell
def customers_repaired(
    customers_read_counts,
    customers_repairs,
    customers_value_counts,
    mo,
    pd,
):
    _touched = {
        **customers_read_counts,
        **customers_value_counts,
    }
    customers_repaired = pd.DataFrame(
        [
            {"repair": _name, "is on": customers_repairs.value.get(_name, True), "touches": _count}
            for _name, _count in _touched.items()
        ],
        columns=["repair", "is on", "touches"],
    )
    mo.ui.table(customers_repaired, selection=None, show_column_summaries=False)
    return (customers_repaired,)


@app.cell
def orders_with_customers(customers, orders):
    _left = orders.assign(joined_by=orders["customer_id"])
    _right = customers.assign(joined_by=customers["customer_id"]).drop(columns="customer_id")
    # One row per key on the right, so that no row on the left is counted twice.
    _right = _right.dropna(subset="joined_by").drop_duplicates("joined_by")
    orders_with_customers = _left.merge(_right, how="left", on="joined_by", validate="many_to_one")
    orders_with_customers = orders_with_customers.drop(columns="joined_by")
    orders_with_customers_found = _left["joined_by"].isin(_right["joined_by"]).mean()
    return orders_with_customers, orders_with_customers_found


@app.cell(hide_code=True)
def about_orders_with_customers(
    mo,
    orders_with_customers,
    orders_with_customers_found,
):
    mo.md(rf"""
    ## orders with customers

    Joined by customer\_id = customer\_id: {orders_with_customers_found:.1%} of {len(orders_with_customers):,} rows found a partner; of the others, what customers would say is missing.
    """)
    return


@app.cell(hide_code=True)
def orders_at_a_glance(mo):
    mo.md(r"""
    ## A look at orders

    Every column with what it seems to mean, how full it is, and its range.
    """)
    return


@app.cell
def orders_columns(describe_columns, mo, orders):
    orders_columns = describe_columns(orders, {
        "order_id": "id", "order_date": "date", "customer_id": "id", "product_group": "category",
        "channel": "category", "quantity": "measure", "amount": "currency", "shipping_days": "measure",
        "weight_kg": "measure", "weight_g": "measure", "packed_by": "category",
    })
    mo.ui.table(orders_columns, selection=None, page_size=20, show_column_summaries=False)
    return


@app.cell(hide_code=True)
def orders_missing_look_words(mo):
    mo.md(r"""
    ### Where values are missing

    A line per column, from the first row to the last; the redder, the emptier.
    """)
    return


@app.cell
def orders_missing_look(alt, np, orders, pd):
    _names = [
        "shipping_days", "order_date", "customer_id", "product_group", "channel", "quantity",
        "weight_kg", "weight_g", "packed_by",
    ]
    _blocks = np.arange(len(orders)) * min(60, len(orders)) // max(len(orders), 1)
    _labels = [f"{_at + 1}. {str(_name)[:60]}" for _at, _name in enumerate(_names)]
    _missing = orders[_names].isna().set_axis(_labels, axis=1)
    _first = pd.Series(np.arange(len(orders)) + 1).groupby(_blocks).min().rename("from_row")
    _map = _missing.groupby(_blocks).mean().join(_first).melt("from_row", var_name="column", value_name="share")
    alt.Chart(_map, title="Missing values in orders").mark_rect().encode(
        x=alt.X("from_row:O", title="rows of the table, first to last", axis=alt.Axis(labelOverlap=True)),
        y=alt.Y("column:N", sort=None, title="column", axis=alt.Axis(labelLimit=220)),
        color=alt.Color("share:Q", title="share missing", scale=alt.Scale(domain=[0, 1], range=["#F2F2F2", "#D55E00"])),
        tooltip=[
            alt.Tooltip("column:N", title="column"),
            alt.Tooltip("from_row:O", title="from row"),
            alt.Tooltip("share:Q", title="share missing", format=".0%"),
        ],
    ).properties(width="container", height=alt.Step(18))
    return


@app.cell(hide_code=True)
def orders_rows_over_time_look_words(mo):
    mo.md(r"""
    ### Rows over order date

    How many rows each week has: gaps show here.
    """)
    return


@app.cell
def orders_rows_over_time_look(alt, orders, pd):
    _dates = orders["order_date"].dropna()
    _line = pd.Series(1, index=pd.DatetimeIndex(_dates)).resample("W-MON").sum()
    _line = _line.rename_axis("when").reset_index(name="rows").tail(5000)
    alt.Chart(_line, title="Rows per week of order date").mark_line(
        color="#0072B2", point=len(_line) <= 60
    ).encode(
        x=alt.X("when:T", title="order date, per week"),
        y=alt.Y("rows:Q", title="rows"),
        tooltip=[alt.Tooltip("when:T", title="week from"), alt.Tooltip("rows:Q", title="rows", format=",")],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def orders_amount_over_time_look_words(mo):
    mo.md(r"""
    ### amount (EUR) over time

    The sum per week; a break in the line has no values.
    """)
    return


@app.cell
def orders_amount_over_time_look(alt, np, orders, pd):
    _numbers = pd.to_numeric(orders["amount"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _dates = orders["order_date"].reindex(_numbers.index)
    _line = pd.Series(_numbers[_dates.notna()].to_numpy(), index=pd.DatetimeIndex(_dates.dropna()), dtype="float64")
    _line = _line.resample("W-MON").sum(min_count=1).rename_axis("when").reset_index(name="value").tail(5000)
    alt.Chart(_line, title="Sum of amount (EUR) per week").mark_line(color="#0072B2", point=len(_line) <= 60).encode(
        x=alt.X("when:T", title="order date, per week"),
        y=alt.Y("value:Q", title="sum of amount (EUR)", scale=alt.Scale(zero=False)),
        tooltip=[
            alt.Tooltip("when:T", title="week from"),
            alt.Tooltip("value:Q", title="sum of amount (EUR)", format=",.4~r"),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def orders_quantity_over_time_look_words(mo):
    mo.md(r"""
    ### quantity over time

    The mean per week; a break in the line has no values.
    """)
    return


@app.cell
def orders_quantity_over_time_look(alt, np, orders, pd):
    _numbers = pd.to_numeric(orders["quantity"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _dates = orders["order_date"].reindex(_numbers.index)
    _line = pd.Series(_numbers[_dates.notna()].to_numpy(), index=pd.DatetimeIndex(_dates.dropna()), dtype="float64")
    _line = _line.resample("W-MON").mean().rename_axis("when").reset_index(name="value").tail(5000)
    alt.Chart(_line, title="Mean of quantity per week").mark_line(color="#0072B2", point=len(_line) <= 60).encode(
        x=alt.X("when:T", title="order date, per week"),
        y=alt.Y("value:Q", title="mean of quantity", scale=alt.Scale(zero=False)),
        tooltip=[
            alt.Tooltip("when:T", title="week from"),
            alt.Tooltip("value:Q", title="mean of quantity", format=",.4~r"),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def orders_amount_look_words(mo):
    mo.md(r"""
    ### amount (EUR)

    How its values spread over 5,226 rows. Few are very large, so the axis is logarithmic: each step multiplies.
    """)
    return


@app.cell
def orders_amount_look(alt, np, orders, pd):
    _values = pd.to_numeric(orders["amount"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _values = _values[_values > 0]
    _ends = (_values.min(), _values.max()) if len(_values) else (1, 10)
    _counts, _edges = np.histogram(_values, bins=np.geomspace(_ends[0], _ends[1] * 1.0001, 31))
    _bars = pd.DataFrame({"low": _edges[:-1], "high": _edges[1:], "rows": _counts})
    alt.Chart(_bars, title="Distribution of amount (EUR), logarithmic axis").mark_bar(color="#0072B2", stroke="white", strokeWidth=0.5).encode(
        x=alt.X("low:Q", bin="binned", title="amount (EUR)", scale=alt.Scale(type="log", nice=False)),
        x2="high:Q",
        y=alt.Y("rows:Q", title="rows"),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
            alt.Tooltip("rows:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def orders_quantity_look_words(mo):
    mo.md(r"""
    ### quantity

    How its values spread over 5,224 rows. The file does not say in which unit.
    """)
    return


@app.cell
def orders_quantity_look(alt, np, orders, pd):
    _values = pd.to_numeric(orders["quantity"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _ends = (_values.min() / 2, _values.max() / 2) if len(_values) else (0, 1)
    _edges = np.linspace(*_ends, 31) * 2
    _counts, _ = np.histogram(_values, bins=_edges)
    _bars = pd.DataFrame({"low": _edges[:-1], "high": _edges[1:], "rows": _counts})
    alt.Chart(_bars, title="Distribution of quantity").mark_bar(color="#0072B2", stroke="white", strokeWidth=0.5).encode(
        x=alt.X("low:Q", bin="binned", title="quantity"),
        x2="high:Q",
        y=alt.Y("rows:Q", title="rows"),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
            alt.Tooltip("rows:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def orders_far_values_words(mo):
    mo.md(r"""
    ### Values far outside in orders

    The twenty farthest from the middle half of amount, in widths of that half. They stay unless the switch is on.
    """)
    return


@app.cell
def orders_far_values(mo, np, orders, pd):
    _far = []
    for _column in ["amount"]:
        _numbers = pd.to_numeric(orders[_column], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
        _low, _high = _numbers.quantile([0.25, 0.75])
        _distance = pd.concat([_low - _numbers, _numbers - _high], axis=1).max(axis=1) / max(_high - _low, 1e-12)
        _table = pd.DataFrame({"row": _numbers.index, "column": _column, "value": _numbers, "widths away": _distance})
        _far.append(_table[_distance > 3])
    orders_far_values = pd.concat(_far).sort_values(["widths away", "row"], ascending=[False, True]).head(20)
    mo.ui.table(orders_far_values, selection=None, show_column_summaries=False)
    return


@app.cell(hide_code=True)
def customers_at_a_glance(mo):
    mo.md(r"""
    ## A look at customers

    Every column with what it seems to mean, how full it is, and its range.
    """)
    return


@app.cell
def customers_columns(customers, describe_columns, mo):
    customers_columns = describe_columns(customers, {
        "customer_id": "id", "city": "category", "postcode": "code", "region": "category",
        "region_code": "category", "segment": "category", "joined": "date", "birth_year": "measure",
        "newsletter": "flag", "satisfaction": "measure",
    })
    mo.ui.table(customers_columns, selection=None, page_size=20, show_column_summaries=False)
    return


@app.cell(hide_code=True)
def customers_missing_look_words(mo):
    mo.md(r"""
    ### Where values are missing

    A line per column, from the first row to the last; the redder, the emptier.
    """)
    return


@app.cell
def customers_missing_look(alt, customers, np, pd):
    _names = ["satisfaction"]
    _blocks = np.arange(len(customers)) * min(60, len(customers)) // max(len(customers), 1)
    _labels = [f"{_at + 1}. {str(_name)[:60]}" for _at, _name in enumerate(_names)]
    _missing = customers[_names].isna().set_axis(_labels, axis=1)
    _first = pd.Series(np.arange(len(customers)) + 1).groupby(_blocks).min().rename("from_row")
    _map = _missing.groupby(_blocks).mean().join(_first).melt("from_row", var_name="column", value_name="share")
    alt.Chart(_map, title="Missing values in customers").mark_rect().encode(
        x=alt.X("from_row:O", title="rows of the table, first to last", axis=alt.Axis(labelOverlap=True)),
        y=alt.Y("column:N", sort=None, title="column", axis=alt.Axis(labelLimit=220)),
        color=alt.Color("share:Q", title="share missing", scale=alt.Scale(domain=[0, 1], range=["#F2F2F2", "#D55E00"])),
        tooltip=[
            alt.Tooltip("column:N", title="column"),
            alt.Tooltip("from_row:O", title="from row"),
            alt.Tooltip("share:Q", title="share missing", format=".0%"),
        ],
    ).properties(width="container", height=alt.Step(18))
    return


@app.cell(hide_code=True)
def customers_rows_over_time_look_words(mo):
    mo.md(r"""
    ### Rows over joined

    How many rows each week has: gaps show here.
    """)
    return


@app.cell
def customers_rows_over_time_look(alt, customers, pd):
    _dates = customers["joined"].dropna()
    _line = pd.Series(1, index=pd.DatetimeIndex(_dates)).resample("W-MON").sum()
    _line = _line.rename_axis("when").reset_index(name="rows").tail(5000)
    alt.Chart(_line, title="Rows per week of joined").mark_line(
        color="#0072B2", point=len(_line) <= 60
    ).encode(
        x=alt.X("when:T", title="joined, per week"),
        y=alt.Y("rows:Q", title="rows"),
        tooltip=[alt.Tooltip("when:T", title="week from"), alt.Tooltip("rows:Q", title="rows", format=",")],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def customers_birth_year_over_time_look_words(mo):
    mo.md(r"""
    ### birth (year) over time

    The mean per week; a break in the line has no values.
    """)
    return


@app.cell
def customers_birth_year_over_time_look(alt, customers, np, pd):
    _numbers = pd.to_numeric(customers["birth_year"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _dates = customers["joined"].reindex(_numbers.index)
    _line = pd.Series(_numbers[_dates.notna()].to_numpy(), index=pd.DatetimeIndex(_dates.dropna()), dtype="float64")
    _line = _line.resample("W-MON").mean().rename_axis("when").reset_index(name="value").tail(5000)
    alt.Chart(_line, title="Mean of birth (year) per week").mark_line(color="#0072B2", point=len(_line) <= 60).encode(
        x=alt.X("when:T", title="joined, per week"),
        y=alt.Y("value:Q", title="mean of birth (year)", scale=alt.Scale(zero=False)),
        tooltip=[
            alt.Tooltip("when:T", title="week from"),
            alt.Tooltip("value:Q", title="mean of birth (year)", format=",.4~r"),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def customers_satisfaction_over_time_look_words(mo):
    mo.md(r"""
    ### satisfaction over time

    The mean per week; a break in the line has no values.
    """)
    return


@app.cell
def customers_satisfaction_over_time_look(alt, customers, np, pd):
    _numbers = pd.to_numeric(customers["satisfaction"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _dates = customers["joined"].reindex(_numbers.index)
    _line = pd.Series(_numbers[_dates.notna()].to_numpy(), index=pd.DatetimeIndex(_dates.dropna()), dtype="float64")
    _line = _line.resample("W-MON").mean().rename_axis("when").reset_index(name="value").tail(5000)
    alt.Chart(_line, title="Mean of satisfaction per week").mark_line(color="#0072B2", point=len(_line) <= 60).encode(
        x=alt.X("when:T", title="joined, per week"),
        y=alt.Y("value:Q", title="mean of satisfaction", scale=alt.Scale(zero=False)),
        tooltip=[
            alt.Tooltip("when:T", title="week from"),
            alt.Tooltip("value:Q", title="mean of satisfaction", format=",.4~r"),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def customers_birth_year_look_words(mo):
    mo.md(r"""
    ### birth (year)

    How its values spread over 600 rows. Few are very large, so the axis is logarithmic: each step multiplies.
    """)
    return


@app.cell
def customers_birth_year_look(alt, customers, np, pd):
    _values = pd.to_numeric(customers["birth_year"], errors="coerce").replace([np.inf, -np.inf], np.nan).dropna()
    _values = _values[_values > 0]
    _ends = (_values.min(), _values.max()) if len(_values) else (1, 10)
    _counts, _edges = np.histogram(_values, bins=np.geomspace(_ends[0], _ends[1] * 1.0001, 31))
    _bars = pd.DataFrame({"low": _edges[:-1], "high": _edges[1:], "rows": _counts})
    alt.Chart(_bars, title="Distribution of birth (year), logarithmic axis").mark_bar(color="#0072B2", stroke="white", strokeWidth=0.5).encode(
        x=alt.X("low:Q", bin="binned", title="birth (year)", scale=alt.Scale(type="log", nice=False)),
        x2="high:Q",
        y=alt.Y("rows:Q", title="rows"),
        tooltip=[
            alt.Tooltip("low:Q", title="from", format=",.4~r"),
            alt.Tooltip("high:Q", title="to", format=",.4~r"),
            alt.Tooltip("rows:Q", title="rows", format=","),
        ],
    ).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def customers_city_look_words(mo):
    mo.md(r"""
    ### city

    How many rows each of its 12 values has.
    """)
    return


@app.cell
def customers_city_look(alt, customers):
    _values = customers["city"].astype("str").str.slice(0, 60).fillna("(missing)")
    _counts = _values.value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable")
    _bars = _counts.head(12).rename_axis("value").reset_index(name="rows")
    if len(_counts) > 12:
        _others = f"(all {len(_counts) - 12:,} others)"
        _bars.loc[len(_bars)] = [_others, int(_counts.iloc[12:].sum())]
    _bars["share"] = _bars["rows"] / max(len(_values), 1)
    alt.Chart(_bars, title="Rows by city").mark_bar(color="#0072B2").encode(
        y=alt.Y("value:N", sort=None, title="city", axis=alt.Axis(labelLimit=220)),
        x=alt.X("rows:Q", title="rows"),
        tooltip=[
            alt.Tooltip("value:N", title="city"),
            alt.Tooltip("rows:Q", title="rows", format=","),
            alt.Tooltip("share:Q", title="share of all rows", format=".1%"),
        ],
    ).properties(width="container", height=alt.Step(22))
    return


@app.cell(hide_code=True)
def about_the_tests(mo):
    mo.md(r"""
    ## Tests

    What is said further down rests on tests, and all of them stand here, also those that found nothing.

    - **A measure by groups**: Mann-Whitney or Brunner-Munzel for two groups, Kruskal-Wallis for more. They compare ranks,
      so no bell curve is assumed and far-out values weigh no more than others.
    - **Two categories**: chi-square, or Fisher's exact test where counts are small.
    - **Two measures**: Spearman's rank correlation.
    - **A measure over time**: trend, season and break, each allowing for neighbours in time that are alike.

    Many tests find something by chance alone. So all p-values are corrected together (Benjamini-Yekutieli): of what is
    called a finding, at most 5 % is expected to be chance. A finding must also be strong enough to matter: a rank-biserial
    or rank correlation of 0.2, an epsilon squared of 0.02, a Cramer's V of 0.1, half a standard deviation for a trend or a
    break, a fifth for a change. Effects come with a 95 % interval.
    """)
    return


@app.cell
def orders_with_customers_roles():
    orders_with_customers_roles = {
        "order_id": "id", "order_date": "date", "customer_id": "id", "product_group": "category",
        "channel": "category", "quantity": "measure", "amount": "currency", "shipping_days": "measure",
        "weight_kg": "measure", "weight_g": "measure", "packed_by": "category", "city": "category",
        "postcode": "code", "region": "category", "region_code": "category", "segment": "category",
        "joined": "date", "newsletter": "flag",
    }
    return (orders_with_customers_roles,)


@app.cell
def customers_roles():
    customers_roles = {
        "customer_id": "id", "city": "category", "postcode": "code", "region": "category",
        "region_code": "category", "segment": "category", "joined": "date", "birth_year": "measure",
        "newsletter": "flag", "satisfaction": "measure",
    }
    return (customers_roles,)


@app.cell
def all_tests(
    customers,
    customers_roles,
    examine,
    orders_with_customers,
    orders_with_customers_roles,
):
    tests = examine(
        {"orders_with_customers": orders_with_customers, "customers": customers},
        {"orders_with_customers": orders_with_customers_roles, "customers": customers_roles},
        first=[["orders_with_customers", "amount"]],
        spans=[[["2024-07-01", "2024-09-30"], ["2025-07-01", "2025-09-30"]]],
    )
    return (tests,)


@app.cell(hide_code=True)
def made_tests(escaped, mo, tests):
    mo.md(rf"""
    **{len(tests):,} tests** were made; {int(tests["is_finding"].sum()):,} of them are findings after the correction. The table holds all of them, the surest first; `effect` is the size with its interval from `low` to `high`, `checked` says which assumptions were looked at. {"Left out: " + "; ".join(escaped(_why, 120) for _why in tests.attrs["left_out"][:8]) + "." if tests.attrs.get("left_out") else ""}
    """)
    return


@app.cell
def all_tests_shown(mo, tests):
    _order = tests.sort_values(["is_finding", "p_adjusted", "kind", "table", "y", "x"], ascending=[False] + [True] * 5)
    _columns = ["is_finding", "kind", "table", "y", "x", "effect", "low", "high", "effect_name", "p_adjusted", "p", "n"]
    mo.ui.table(_order[[*_columns, "test", "statistic", "checked"]].round(4), selection=None, page_size=10)
    return


@app.cell
def define_as_number(pd):
    def as_number(
        values: pd.Series,
        decimal: str = ".",
        thousands: str = "",
        prefix: str = "",
        suffix: str = "",
        scale: float = 1.0,
        brackets: bool = False,
        units: dict[str, float] | None = None,
    ) -> pd.Series:
        """Text as numbers: signs of money and units are taken off, other units turned into one. What is none is missing."""
        if pd.api.types.is_numeric_dtype(values):
            return values
        if values.dtype.kind == "m":
            return values.dt.total_seconds()
        is_text = isinstance(values.dtype, pd.StringDtype)
        texts = values if is_text else values.astype(object).map(str, na_action="ignore").astype("str")
        if (decimal, thousands, prefix, suffix, scale, brackets, units) == (".", "", "", "", 1.0, False, None):
            return pd.Series(pd.to_numeric(texts.str.strip(), errors="coerce"), index=values.index, dtype="float64")
        texts = texts.str.replace("\N{MINUS SIGN}", "-").str.strip()
        factors = pd.Series(scale, index=values.index)
        for unit, factor in (units or {}).items():
            has_unit = texts.str.endswith(unit) & ~texts.str.endswith(suffix or "\0")
            factors = factors.mask(has_unit, factor or float("nan"))
            texts = texts.mask(has_unit, texts.str.removesuffix(unit))
        if brackets:
            texts = texts.str.replace(r"^\((.*)\)$", r"-\1", regex=True)
        for mark in (prefix, suffix, thousands):
            texts = texts.str.replace(mark, "", regex=False) if mark.strip() else texts
        texts = texts.str.replace(r"\s", "", regex=True)
        if decimal != ".":
            texts = texts.str.replace(".", "?", regex=False).str.replace(decimal, ".", regex=False)
        return pd.Series(pd.to_numeric(texts, errors="coerce"), index=values.index, dtype="float64") * factors

    return (as_number,)


@app.cell
def define_as_date(pd):
    def as_date(values: pd.Series, formats: list[str] | None = None) -> pd.Series:
        """Text as dates, each read by the first format that fits. Moments with a time zone become UTC."""
        if values.dtype.kind == "M":
            return values.dt.tz_convert("UTC").dt.tz_localize(None) if values.dt.tz is not None else values
        is_text = isinstance(values.dtype, pd.StringDtype)
        texts = (values if is_text else values.astype(object).map(str, na_action="ignore").astype("str")).str.strip()
        found = pd.Series(pd.NaT, index=values.index, dtype="datetime64[us]")
        for form in formats or ["ISO8601"]:
            left = texts.where(found.isna())
            read = pd.to_datetime(left, format=form, errors="coerce", utc=True)
            found = found.fillna(read.dt.tz_localize(None).astype("datetime64[us]"))
        return found

    return (as_date,)


@app.cell
def define_as_flag(pd):
    def as_flag(values: pd.Series, true_words: list[str], false_words: list[str]) -> pd.Series:
        """Words for yes and no as true and false; any other word is missing."""
        if pd.api.types.is_bool_dtype(values):
            return values.astype("boolean")
        texts = values.astype(object).map(str, na_action="ignore").astype("str").str.strip().str.casefold()
        meanings = {word.strip().casefold(): True for word in true_words}
        meanings |= {word.strip().casefold(): False for word in false_words}
        return texts.map(meanings).astype("boolean")

    return (as_flag,)


@app.cell
def define_describe_columns(pd):
    def describe_columns(table: pd.DataFrame, meanings: dict[str, str]) -> pd.DataFrame:
        """One row per column: what it is, how full, how many different values, and between what they lie."""
        rows = list[dict[str, str]]()
        for at, name in enumerate(table.columns):
            values = table.iloc[:, at].dropna()
            is_ordered = pd.api.types.is_numeric_dtype(values) or values.dtype.kind == "M"
            counts = values.value_counts()
            common = counts[counts == counts.max()] if len(counts) and counts.max() > 1 else counts[:0]
            has_ends = is_ordered and len(values) > 0
            row = {"column": str(name), "meaning": meanings.get(str(name), "")}
            row |= {"filled": f"{len(values) / max(len(table), 1):.0%}", "different": f"{len(counts):,}"}
            row |= {"least": str(values.min()) if has_ends else "", "greatest": str(values.max()) if has_ends else ""}
            row["median"] = f"{values.median():.6g}" if has_ends and values.dtype.kind in "iuf" else ""
            row["commonest"] = min(map(str, common.index), default="")[:60]
            rows.append(row)
        return pd.DataFrame(rows)

    return (describe_columns,)


@app.cell(hide_code=True)
def about_the_methods(mo):
    mo.md(r"""
    ### Methods

    The functions behind the tests follow, one in each cell, their code folded away. They need pandas, numpy and scipy only.
    """)
    return


@app.cell(hide_code=True)
def method_column_of(np, pd):
    def column_of(table: pd.DataFrame, column: str) -> pd.Series:
        """One column, also where several have that name; all missing where none has."""
        if column not in table.columns:
            return pd.Series(np.nan, index=table.index)
        values = table[column]
        return values.iloc[:, 0] if isinstance(values, pd.DataFrame) else values

    return (column_of,)


@app.cell(hide_code=True)
def method_numbers_of(column_of, np, pd):
    def numbers_of(table: pd.DataFrame, column: str) -> pd.Series:
        """A column as numbers; infinities, and what is no number, are missing."""
        values = column_of(table, column)
        if values.dtype == float:
            numbers = values.to_numpy()
        elif pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
            numbers = np.real(values.to_numpy(dtype=complex if values.dtype.kind == "c" else float, na_value=np.nan))
        elif values.dtype.kind in "mM":
            numbers = np.full(len(values), np.nan)
        else:
            text = values.astype(object).map(str, na_action="ignore").replace({"True": "1", "False": "0"})
            numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        return pd.Series(np.where(np.isfinite(numbers), numbers, np.nan), index=table.index)

    return (numbers_of,)


@app.cell(hide_code=True)
def method_labels_of(column_of, np, pd):
    def labels_of(table: pd.DataFrame, column: str, most: int = 20, least: int = 5) -> pd.Series:
        """A column as labels: the `most` common that occur `least` times; others are missing."""
        values = column_of(table, column)
        is_ready = isinstance(values.dtype, pd.CategoricalDtype) and values.cat.categories.inferred_type == "string"
        if not is_ready:
            values = values.astype(object).map(str, na_action="ignore").astype("str").str.slice(0, 80).astype("category")
        codes, names = values.cat.codes.to_numpy(), list(values.cat.categories)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        kept = sorted(np.flatnonzero(counts >= max(least, 1)), key=lambda place: (-int(counts[place]), str(names[place])))[
            :most
        ]
        places = np.full(len(names) + 1, -1)
        places[kept] = np.arange(len(kept))
        return pd.Series(pd.Categorical.from_codes(places[codes], [names[place] for place in kept]), index=table.index)

    return (labels_of,)


@app.cell(hide_code=True)
def method_moments_of(column_of, numbers_of, pd):
    def moments_of(table: pd.DataFrame, column: str) -> pd.Series:
        """A column as moments without a time zone (UTC if there was one); numbers are years."""
        values = column_of(table, column)
        if pd.api.types.is_numeric_dtype(values):
            years = numbers_of(table, column)
            text = years.where(years.between(1000, 2999)).round().astype("Int64").astype("string")
            return pd.to_datetime(text, format="%Y", errors="coerce")
        if values.dtype.kind != "M" and not isinstance(values.dtype, pd.DatetimeTZDtype):
            values = values.astype(object).map(str, na_action="ignore")
            return pd.to_datetime(values, format="mixed", errors="coerce", utc=True).dt.tz_localize(None)
        return pd.to_datetime(values, errors="coerce", utc=True).dt.tz_localize(None)

    return (moments_of,)


@app.cell(hide_code=True)
def method_row_of():
    def row_of(
        kind: str,
        names: tuple[str, str],
        n: int,
        outcome: tuple[str, float, float, str, float, float, float],
        checked: list[str],
        says: str,
    ) -> dict[str, object]:
        """One row for the table of tests.

        `outcome` is the test, its statistic and p, the name of the effect, its size and its bounds.
        """
        test, statistic, p, effect_name, effect, low, high = outcome
        numbers = {"statistic": statistic, "p": p, "effect": effect, "low": low, "high": high}
        return {
            **{"kind": kind, "y": names[0], "x": names[1], "test": test, "n": int(n), "effect_name": effect_name},
            **{name: float(number) for name, number in numbers.items()},
            **{"checked": "; ".join(note for note in checked if note), "says": says},
        }

    return (row_of,)


@app.cell(hide_code=True)
def method_difference(
    are_apart,
    labels_of,
    many_groups,
    np,
    numbers_of,
    pd,
    row_of,
    stats,
    two_groups,
):
    def difference(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
        """Whether a measure differs between groups; by ranks, so far-out values weigh no more."""
        values, labels = numbers_of(table, y).to_numpy(), labels_of(table, x).cat
        codes, names = labels.codes.to_numpy(), list(labels.categories)
        there = np.isfinite(values) & (codes >= 0)
        values, codes = values[there], codes[there]
        large = np.flatnonzero(np.bincount(codes, minlength=len(names)) >= 5)
        there = np.isin(codes, large)
        values, codes = values[there], codes[there]
        if len(large) < 2 or np.ptp(values) == 0:
            return None
        ranks = np.bincount(codes, stats.rankdata(values)) / np.maximum(np.bincount(codes), 1)
        order = sorted(large, key=lambda place: (float(ranks[place]), str(names[place])))
        groups = [values[codes == place] for place in order]
        spreads = [np.ptp(np.percentile(group, [25, 75])) for group in groups]
        outcome = two_groups(groups[1], groups[0]) if len(groups) == 2 else many_groups(groups)
        medians = [float(np.median(group)) for group in groups]
        # What is said must agree with the order, which is that of the ranks.
        is_plain = medians[0] == min(medians) and medians[-1] == max(medians)
        figures = [f"median {medians[end]:,.4g}" if is_plain else f"mean rank {ranks[order[end]]:,.4g}" for end in (0, -1)]
        low, high = (f"{names[order[end]]} ({figures[end]})" for end in (0, -1))
        more, less = ("higher", "than") if len(groups) == 2 else ("highest", "and lowest")
        checked = [
            f"smallest group {min(len(group) for group in groups):,}",
            "similar spread" if max(spreads) <= 2 * min(spreads) else "unequal spread",
            "many ties" if len(np.unique(values)) < len(values) / 2 else "",
            "groups do not overlap: one may be made from the other" if are_apart(groups) else "",
        ]
        says = f"{y} is {more} where {x} is {high} {less} where it is {low}"
        return row_of("difference", (y, x), len(values), outcome, [note, *checked], says)

    return (difference,)


@app.cell(hide_code=True)
def method_are_apart(np):
    def are_apart(groups: list[np.ndarray]) -> bool:
        """Whether three groups or more lie one above the other without any overlap, as bands made from a measure do."""
        ends = sorted((float(group.min()), float(group.max())) for group in groups)
        return len(ends) > 2 and all(ends[place][1] < ends[place + 1][0] for place in range(len(ends) - 1))

    return (are_apart,)


@app.cell(hide_code=True)
def method_two_groups(np, stats):
    def two_groups(first: np.ndarray, second: np.ndarray) -> tuple[str, float, float, str, float, float, float]:
        """Mann-Whitney, or Brunner-Munzel where spreads differ, with the rank-biserial correlation.

        That is how much more often a value of the first group is the higher one than the lower one: -1 to 1.
        """
        n, m = len(first), len(second)
        a, b = np.sort(first), np.sort(second)
        wins = (np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / (2 * m)
        losses = (np.searchsorted(a, b, "left") + np.searchsorted(a, b, "right")) / (2 * n)
        effect = 2 * wins.mean() - 1
        parts = wins.var(ddof=1) / n, losses.var(ddof=1) / m
        variance = max(sum(parts), 0.25 / (n * m))
        freedom = max(sum(parts) ** 2 / max(parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1), 1e-300), min(n, m) - 1)
        spreads = sorted(np.ptp(np.percentile(group, [25, 75])) for group in (first, second))
        if spreads[1] > 2 * spreads[0] and sum(parts) > 0 and min(n, m) >= 20:
            test, statistic = "Brunner-Munzel", effect / (2 * np.sqrt(variance))
            p = 2 * stats.t.sf(abs(statistic), freedom)
        else:
            test, (statistic, p) = "Mann-Whitney", stats.mannwhitneyu(first, second)
        inner = np.clip(effect, -1 + 1 / (n * m), 1 - 1 / (n * m))
        reach = stats.t.ppf(0.975, freedom) * 2 * np.sqrt(variance) / (1 - inner**2)
        low, high = np.tanh(np.arctanh(inner) - reach), np.tanh(np.arctanh(inner) + reach)
        return test, statistic, p, "rank-biserial correlation", effect, min(low, effect), max(high, effect)

    return (two_groups,)


@app.cell(hide_code=True)
def method_many_groups(noncentral_interval, np, stats):
    def many_groups(groups: list[np.ndarray]) -> tuple[str, float, float, str, float, float, float]:
        """Kruskal-Wallis with epsilon squared.

        That is the share of the ranks' spread that lies between groups, less what chance alone gives.
        """
        n, freedom = sum(len(group) for group in groups), len(groups) - 1
        statistic, p = stats.kruskal(*groups)
        low, high = noncentral_interval(float(statistic), freedom)
        effect = min(max(statistic - freedom, 0.0) / max(n - freedom - 1, 1), 1.0)
        return (
            "Kruskal-Wallis",
            statistic,
            p,
            "epsilon squared",
            effect,
            min(low / n, effect),
            max(min(high / n, 1.0), effect),
        )

    return (many_groups,)


@app.cell(hide_code=True)
def method_noncentral_interval(np, stats):
    def noncentral_interval(statistic: float, freedom: int) -> tuple[float, float]:
        """A 95 % interval of how far a chi-square statistic lies from chance (its noncentrality)."""
        # Beyond this the root of the statistic is as good as normal, and the exact distribution is slow.
        if statistic > 2000:
            middle = np.sqrt(statistic - freedom)
            return float((middle - 1.96) ** 2), float((middle + 1.96) ** 2)
        distances = np.linspace(0, np.sqrt(statistic) + 8, 300) ** 2
        levels = stats.ncx2.cdf(statistic, freedom, np.maximum(distances, 1e-9))
        low, high = np.interp([-0.975, -0.025], -levels, distances)
        return float(low), float(high)

    return (noncentral_interval,)


@app.cell(hide_code=True)
def method_cross_counts(labels_of, np, pd):
    def cross_counts(table: pd.DataFrame, y: str, x: str) -> pd.DataFrame:
        """How often the 12 commonest labels of two categories meet."""
        rows, columns = labels_of(table, y, most=12).cat, labels_of(table, x, most=12).cat
        first, second, width = rows.codes.to_numpy(), columns.codes.to_numpy(), len(columns.categories)
        both = (first >= 0) & (second >= 0)
        cells = np.bincount(first[both].astype(int) * width + second[both], minlength=len(rows.categories) * width)
        counts = cells.reshape(len(rows.categories), width)
        return pd.DataFrame(counts, index=rows.categories, columns=columns.categories)

    return (cross_counts,)


@app.cell(hide_code=True)
def method_counts_of(cross_counts, np, pd):
    def counts_of(table: pd.DataFrame, y: str, x: str) -> np.ndarray:
        """Two categories counted; rare labels are put together until 5 are expected in each cell."""
        counts = cross_counts(table, y, x).to_numpy()
        counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        while counts.size and min(counts.shape) >= 2 and max(counts.shape) > 2:
            rows, columns = counts.sum(axis=1), counts.sum(axis=0)
            if rows.min() * columns.min() / counts.sum() >= 5:
                break
            # The rarer margin that can still be folded: only totals decide, so the test stays honest.
            if counts.shape[0] > 2 and (rows.min() <= columns.min() or counts.shape[1] == 2):
                order = np.argsort(-rows, kind="stable")
                counts = np.vstack([counts[order[:-2]], counts[order[-2:]].sum(axis=0)])
            else:
                order = np.argsort(-columns, kind="stable")
                counts = np.column_stack([counts[:, order[:-2]], counts[:, order[-2:]].sum(axis=1)])
        return counts

    return (counts_of,)


@app.cell(hide_code=True)
def method_association(
    counts_of,
    noncentral_interval,
    np,
    pd,
    row_of,
    stats,
    together,
):
    def association(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
        """Whether two categories go together: chi-square, Fisher's exact test where counts are small."""
        counts = counts_of(table, y, x)
        if counts.size == 0 or min(counts.shape) < 2 or counts.sum(axis=0).min() == 0 or counts.sum(axis=1).min() == 0:
            return None
        n, (rows, columns) = int(counts.sum()), counts.shape
        statistic, p, freedom, expected = stats.chi2_contingency(counts, correction=False)
        test, is_small = "chi-square", expected.min() < 5
        if is_small and counts.shape == (2, 2):
            test, p = "Fisher's exact test", stats.fisher_exact(counts).pvalue
        excess = max(statistic / n - freedom / (n - 1), 0.0)
        width = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
        effect = min(float(np.sqrt(excess / max(width, 1e-9))), 1.0)
        low, high = (np.sqrt(bound / (n * (min(rows, columns) - 1))) for bound in noncentral_interval(statistic, freedom))
        checked = f"{rows} by {columns} labels, no fewer than {expected.min():,.1f} expected in a cell"
        outcome = (test, statistic, p, "Cramer's V", effect, min(low, effect), max(min(high, 1.0), effect))
        return row_of("association", (y, x), n, outcome, [note, checked], together(table, y, x))

    return (association,)


@app.cell(hide_code=True)
def method_together(cross_counts, np, pd):
    def together(table: pd.DataFrame, y: str, x: str) -> str:
        """Where two categories meet more often than chance would have it, in words."""
        counts = cross_counts(table, y, x)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.to_numpy().sum()
        excess = (counts.to_numpy() - expected) / np.sqrt(np.maximum(expected, 1e-9))
        row, column = np.unravel_index(int(np.argmax(excess)), excess.shape)
        label, group = counts.index[int(row)], counts.columns[int(column)]
        inside = counts.iloc[int(row), int(column)] / max(counts.iloc[:, int(column)].sum(), 1)
        overall = counts.iloc[int(row)].sum() / counts.to_numpy().sum()
        return f"{y} is {label} more often where {x} is {group} ({inside:.0%} there, {overall:.0%} of all)"

    return (together,)


@app.cell(hide_code=True)
def method_correlation(np, numbers_of, pd, row_of, stats):
    def correlation(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
        """Whether two measures rise and fall together: Spearman's rank correlation."""
        frame = pd.DataFrame({"y": numbers_of(table, y), "x": numbers_of(table, x)}).dropna()
        n = len(frame)
        if n < 10 or frame["y"].nunique() < 3 or frame["x"].nunique() < 3:
            return None
        effect, p = stats.spearmanr(frame["y"], frame["x"])
        straight = float(np.corrcoef(frame["y"], frame["x"])[0, 1])
        shape = "close to a straight line" if abs(straight - effect) < 0.1 else "not a straight line, or far-out values"
        inner = np.clip(effect, -1 + 1e-9, 1 - 1e-9)
        reach = 1.96 * np.sqrt((1 + inner**2 / 2) / (n - 3))
        low, high = np.tanh(np.arctanh(inner) - reach), np.tanh(np.arctanh(inner) + reach)
        outcome = ("Spearman", effect, p, "rank correlation", effect, low, high)
        says = f"{y} {'rises' if effect > 0 else 'falls'} as {x} rises"
        return row_of("correlation", (y, x), n, outcome, [note, shape], says)

    return (correlation,)


@app.cell(hide_code=True)
def method_likeness_within(np, stats):
    def likeness_within(values: np.ndarray, keys: np.ndarray) -> float:
        """How alike rows of one key are: the intraclass correlation of ranks, 0 to 1."""
        there = np.isfinite(values) & (keys >= 0)
        ranks, codes = stats.rankdata(values[there]), np.unique(keys[there], return_inverse=True)[1]
        sizes = np.bincount(codes)
        n, groups = len(ranks), len(sizes)
        if groups < 2 or n <= groups:
            return 0.0
        means = np.bincount(codes, ranks) / sizes
        between = (sizes * (means - ranks.mean()) ** 2).sum() / (groups - 1)
        within = ((ranks - means[codes]) ** 2).sum() / (n - groups)
        usual = (n - (sizes**2).sum() / n) / (groups - 1)
        total = between + (usual - 1) * within
        return float(np.clip((between - within) / total, 0, 1)) if total > 0 else 0.0

    return (likeness_within,)


@app.cell(hide_code=True)
def method_likeness_next(np, stats):
    def likeness_next(values: np.ndarray) -> float:
        """How alike neighbours are: the greatest rank correlation with one of the three values before."""
        values = values[np.isfinite(values)]
        if len(values) < 10:
            return 0.0
        ranks = stats.rankdata(values)
        ranks = ranks - ranks.mean()
        total = (ranks**2).sum()
        return float(max((ranks[lag:] * ranks[:-lag]).sum() / total for lag in (1, 2, 3))) if total > 0 else 0.0

    return (likeness_next,)


@app.cell(hide_code=True)
def method_bonds_of(likeness_next, likeness_within, np, pd):
    def bonds_of(table: pd.DataFrame, columns: list[str], keys: list[str]) -> dict[tuple[str, str], float]:
        """How alike each column is within each key, and (under the key "") from row to row."""
        bonds: dict[tuple[str, str], float] = {}
        codes = {key: pd.factorize(table[key])[0] for key in keys}
        for column in columns:
            parts = [table[column].to_numpy()]
            if isinstance(table[column].dtype, pd.CategoricalDtype):
                labels = table[column].cat.codes.to_numpy()
                common = np.argsort(-np.bincount(labels[labels >= 0]), kind="stable")[:3] if (labels >= 0).any() else []
                parts = [np.where(labels >= 0, labels == label, np.nan).astype(float) for label in common]
            bonds[column, ""] = max([likeness_next(part) for part in parts], default=0.0)
            for key in keys:
                bonds[column, key] = max([likeness_within(part, codes[key]) for part in parts], default=0.0)
        return bonds

    return (bonds_of,)


@app.cell(hide_code=True)
def method_one_row_each(pd):
    def one_row_each(table: pd.DataFrame, y: str, x: str, key: str) -> pd.DataFrame:
        """One row for each value of a key: the mean of a measure, the commonest label of a category."""
        parts: list[pd.Series] = []
        for column in (y, x):
            if isinstance(table[column].dtype, pd.CategoricalDtype):
                pairs = table[[key, column]].dropna().groupby([key, column], observed=True).size()
                pairs = pairs.sort_values(ascending=False, kind="stable").reset_index().drop_duplicates(key)
                parts.append(pairs.set_index(key)[column])
            else:
                parts.append(table.groupby(key, observed=True)[column].mean())
        return pd.concat(parts, axis=1, join="inner").sort_index()

    return (one_row_each,)


@app.cell(hide_code=True)
def method_innovations(np):
    def innovations(values: np.ndarray) -> np.ndarray:
        """What is new in each value of a series: the rest of an autoregression on those before it."""
        n, order = len(values), min(7, max(1, len(values) // 25))
        centred = values - np.nanmean(values)
        centred = np.where(np.isfinite(centred), centred, 0.0)
        past = np.column_stack([centred[order - lag : n - lag] for lag in range(1, order + 1)])
        weights = np.linalg.lstsq(past, centred[order:], rcond=None)[0]
        fresh = np.concatenate([np.full(order, np.nan), centred[order:] - past @ weights])
        return np.where(np.isfinite(values), fresh, np.nan)

    return (innovations,)


@app.cell(hide_code=True)
def method_means_of_stretches(likeness_next, pd):
    def means_of_stretches(frame: pd.DataFrame, y: str, x: str) -> tuple[pd.DataFrame, int] | None:
        """Means of as many neighbouring rows of a group as it takes until those are not alike; None: they always are."""
        place = frame.groupby(x, observed=True).cumcount()
        size = 2
        while len(frame) / size >= 12:
            means = frame.groupby([frame[x], place // size], observed=True)[y].mean()
            rest = means - means.groupby(level=0, observed=True).transform("mean")
            if likeness_next(rest.to_numpy()) <= 0.1:
                return means.rename_axis([x, "stretch"]).reset_index()[[y, x]], size
            size *= 2
        return None

    return (means_of_stretches,)


@app.cell(hide_code=True)
def method_without_course(
    bonds_of,
    innovations,
    likeness_next,
    means_of_stretches,
    pd,
):
    def without_course(table: pd.DataFrame, y: str, x: str) -> tuple[pd.DataFrame, str]:
        """Rows whose neighbours in time are alike in both columns, with that likeness taken out."""
        frame = table[[y, x]].dropna().copy()
        measures = [column for column in (y, x) if not isinstance(frame[column].dtype, pd.CategoricalDtype)]
        if len(frame) < 20:
            return frame, ""
        if not measures:
            step = 1
            while step < len(frame) // 2 and bonds_of(frame.iloc[::step], [y], [])[y, ""] > 0.1:
                step *= 2
            return frame.iloc[::step], f"every {step}th row, since neighbours in time are alike"
        is_by_group = measures == [y]
        rest = frame[y] - frame.groupby(x, observed=True)[y].transform("mean") if is_by_group else frame[y]
        if likeness_next(rest.to_numpy()) <= 0.1:
            return frame, ""
        if is_by_group and (means := means_of_stretches(frame, y, x)) is not None:
            return means[0], f"means of {means[1]} neighbouring rows of one {x}, since neighbours in time are alike"
        for column in measures:
            frame[column] = frame[column].mean() + innovations(frame[column].to_numpy())
        return frame, "values less what follows from those before them, since neighbours in time are alike"

    return (without_course,)


@app.cell(hide_code=True)
def method_within_keys(pd):
    def within_keys(table: pd.DataFrame, y: str, x: str, keys: list[str], measures: list[str]) -> tuple[pd.DataFrame, str]:
        """Measures as deviations from the mean of their key, or of several keys at once."""
        frame = table[[y, x]].copy()
        for key in keys * (3 if len(keys) > 1 else 1):
            for column in measures:
                usual = frame[column].groupby(table[key], observed=True).transform("mean")
                frame[column] = frame[column] - usual + frame[column].mean()
        names = " and ".join(keys)
        return frame, f"within each {names}, since rows of one {names} are alike"

    return (within_keys,)


@app.cell(hide_code=True)
def method_independent_rows(one_row_each, pd, within_keys, without_course):
    def independent_rows(
        table: pd.DataFrame, y: str, x: str, bonds: dict[tuple[str, str], float], keys: dict[str, bool], is_ordered: bool
    ) -> tuple[pd.DataFrame, str]:
        """The rows of two columns without what ties them together, and how that was done in words.

        `keys` are columns whose rows may hang together; where it says True, only if the key settles what `x` is.
        """

        def inflation(key: str) -> float:
            rows_each = len(table) / max(table[key].nunique(), 1)
            settles = max(bonds[x, key], bonds[y, key]) > 0.95
            return 1 + (rows_each - 1) * bonds[y, key] * bonds[x, key] if settles or not keys[key] else 1.0

        tied = sorted((key for key in keys if key not in (y, x) and inflation(key) > 1.1), key=inflation, reverse=True)
        measures = [column for column in (y, x) if not isinstance(table[column].dtype, pd.CategoricalDtype)]
        for key in tied[:1]:
            if len(measures) < 2 and (not measures or max(bonds[y, key], bonds[x, key]) >= 0.5):
                frame = one_row_each(table, y, x, key)
                return frame, f"one row for each {key} ({len(frame):,}), since rows of one {key} are alike"
            if len(tied) == 1 and min(bonds[y, key], bonds[x, key]) >= 0.5:
                frame = one_row_each(table, y, x, key)
                return frame, f"one row for each {key} ({len(frame):,}), since rows of one {key} are alike"
        if tied:
            return within_keys(table, y, x, tied, measures)
        if is_ordered and min(bonds[y, ""], bonds[x, ""]) > 0.1:
            return without_course(table, y, x)
        return table[[y, x]], ""

    return (independent_rows,)


@app.cell(hide_code=True)
def method_step_words():
    STEP_WORDS = {
        **{"s": "second", "min": "minute", "h": "hour", "D": "day"},
        **{"W": "week", "M": "month", "Q": "quarter", "Y": "year"},
    }
    return (STEP_WORDS,)


@app.cell(hide_code=True)
def method_course_of(STEP_WORDS, moments_of, numbers_of, pd):
    def course_of(table: pd.DataFrame, y: str, when: str, steps: tuple[str, ...] = (), how: str = "mean") -> pd.Series:
        """A measure for each step of time (its mean or its sum), in the finest steps that give 20 to 400 of them.

        Empty where no step fits: too short, or with too many steps that have no row.
        """
        frame = pd.DataFrame({"when": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
        for step in steps or tuple(STEP_WORDS):
            if frame.empty:
                break
            periods = frame["when"].dt.to_period(step)
            ordinals = pd.Series(periods.array.asi8, index=frame.index)
            count, span = ordinals.nunique(), int(ordinals.max() - ordinals.min()) + 1
            if not 20 <= count <= (4000 if steps else 400) or count < 0.7 * span:
                continue
            grouped = frame["value"].groupby(periods)
            return (grouped.sum() if how == "sum" else grouped.mean()).sort_index()
        return pd.Series(dtype=float)

    return (course_of,)


@app.cell(hide_code=True)
def method_phase_of(np, pd):
    def phase_of(course: pd.Series, cycle: str) -> np.ndarray:
        """Where in its cycle each step stands: its hour of the day, its weekday, its month or quarter."""
        index = pd.PeriodIndex(course.index)
        starts = index.start_time
        phases = {"hour": starts.hour, "weekday": starts.day_of_week, "month": starts.month, "quarter": starts.quarter}
        return np.asarray(phases[cycle])

    return (phase_of,)


@app.cell(hide_code=True)
def method_cycles_of(pd):
    def cycles_of(course: pd.Series) -> tuple[str, ...]:
        """The cycles a course is long enough to show: at least two whole ones, and steps that fit into them."""
        index = pd.PeriodIndex(course.index)
        step = str(index.freqstr).split("-")[0]
        days = (index[-1].end_time - index[0].start_time) / pd.Timedelta(days=1)
        found = ["hour"] if step == "h" and days >= 3 else []
        found += ["weekday"] if step in ("h", "D") and days >= 28 else []
        found += ["quarter"] if step == "Q" and days >= 720 else []
        found += ["month"] if step in ("D", "W", "M") and days >= 720 else []
        return tuple(found)

    return (cycles_of,)


@app.cell(hide_code=True)
def method_without_season(cycles_of, np, pd, phase_of):
    def without_season(course: pd.Series) -> np.ndarray:
        """The values of a course less the usual deviation of each phase of its cycles."""
        values = course.to_numpy(dtype=float)
        for cycle in cycles_of(course):
            phases = pd.Series(phase_of(course, cycle))
            values = values - pd.Series(values).groupby(phases).transform("mean").to_numpy() + values.mean()
        return values

    return (without_season,)


@app.cell(hide_code=True)
def method_persistence(np):
    def persistence(rest: np.ndarray, parameters: int) -> tuple[float, float, float]:
        """How much of a value stays to the next: the share, its uncertainty, and how surely it is not everything.

        The last is the Dickey-Fuller statistic: far below zero where the series keeps coming back to its level.
        """
        n, past = len(rest), (rest[:-1] ** 2).sum()
        if past <= 0:
            return 0.0, 0.0, -np.inf
        share = (rest[1:] * rest[:-1]).sum() / past
        error = np.sqrt(((rest[1:] - share * rest[:-1]) ** 2).sum() / max(n - parameters - 1, 1) / past)
        corrected = share + (parameters + 2 * parameters * share) / n
        return float(corrected), float(error), float((share - 1) / max(error, 1e-12))

    return (persistence,)


@app.cell(hide_code=True)
def method_line_test(np, persistence, stats):
    def line_test(values: np.ndarray) -> tuple[float, float, float, float, bool]:
        """A straight line through a series: its slope, its error, degrees of freedom, p, and whether it comes back.

        The error allows for neighbours that are alike. Where the series may wander without coming back (a random walk),
        the line must also stand out from the usual steps.
        """
        n = len(values)
        x = np.arange(n) - (n - 1) / 2
        slope = (x @ values) / (x @ x)
        rest = values - values.mean() - slope * x
        share, uncertain, returning = persistence(rest, 2)
        share = min(max(share + 0.5 * uncertain, 0.0), 0.97)
        alike = share ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        variance = (rest @ rest) / max(n - alike.sum() / n - (x @ alike @ x) / (x @ x), 1e-9)
        error = np.sqrt(max(variance * (x @ alike @ x), 1e-300)) / (x @ x)
        freedom = max(n * (1 - share) / (1 + share) - 2, 2.0)
        p = 2 * stats.t.sf(abs(slope) / error, freedom)
        comes_back = returning < -4.5 - 10 / n
        if not comes_back:
            steps = np.diff(values)
            around = steps - steps.mean()
            stays = min(max((around[1:] @ around[:-1]) / max(around @ around, 1e-300), 0.0) + 2 / n, 0.9)
            wide = steps.std(ddof=1) * np.sqrt((1 + stays) / (1 - stays) / (n - 1))
            drift = 2 * stats.t.sf(abs(steps.mean()) / max(wide, 1e-300), n / 2 - 2)
            error, freedom, p = max(error, wide), min(freedom, n / 2 - 2), max(p, drift)
        return float(slope), float(error), float(freedom), float(p), bool(comes_back)

    return (line_test,)


@app.cell(hide_code=True)
def method_trend(
    STEP_WORDS,
    course_of,
    cycles_of,
    line_test,
    np,
    pd,
    row_of,
    stats,
    step_at,
    without_season,
):
    def trend(table: pd.DataFrame, y: str, when: str, how: str = "mean") -> dict[str, object] | None:
        """Whether a measure rises or falls over time, beyond what a series that wanders by itself would do."""
        course = course_of(table, y, when, how=how)
        if len(course) < 20 or course.nunique() < 3:
            return None
        values, index = without_season(course), pd.PeriodIndex(course.index)
        slope, error, freedom, p, comes_back = line_test(values)
        places = np.arange(len(values))
        rest, at = values - values.mean() - slope * (places - places.mean()), step_at(values)
        left = values - np.where(places < at, values[:at].mean(), values[at:].mean())
        word = STEP_WORDS[str(index.freqstr).split("-")[0]]
        checked = [
            f"one value for each {word}",
            *(f"season by {cycle} taken out" for cycle in cycles_of(course)),
            "likeness of neighbours allowed for" if comes_back else "held against a series that wanders by itself",
            "one step fits better than a line" if left.std() < 0.95 * rest.std() else "",
            ""
            if {"month", "quarter"} & {*cycles_of(course)} or word == "year"
            else "too short to tell a yearly season from it",
        ]
        whole = places[-1] / max(rest.std(), 1e-9 * max(abs(values).max(), 1e-9))
        reach = stats.t.ppf(0.975, freedom) * error
        name = "change over the whole time in standard deviations"
        sizes = (slope * whole, (slope - reach) * whole, (slope + reach) * whole)
        says = f"the {how} of {y} for each {word} {'rises' if slope > 0 else 'falls'} from {index[0]} to {index[-1]}"
        says += f", by about {abs(slope):,.3g} a {word}"
        outcome = ("line with autocorrelated errors", slope / max(error, 1e-300), p, name, *sizes)
        return row_of("trend", (y, when), len(values), outcome, checked, says)

    return (trend,)


@app.cell(hide_code=True)
def method_season(
    course_of,
    cycles_of,
    extremes,
    many_groups,
    np,
    pd,
    persistence,
    phase_of,
    row_of,
):
    def season(table: pd.DataFrame, y: str, when: str) -> dict[str, object] | None:
        """Whether a measure follows the hour, the weekday, the month or the quarter; the clearest of them.

        Tested on what is new in each step, so that a slow wave is not taken for a season.
        """
        found: list[dict[str, object]] = []
        for cycle, step in (("hour", "h"), ("weekday", "D"), ("month", "M"), ("quarter", "Q")):
            course = course_of(table, y, when, steps=(step,))
            if len(course) < 24 or cycle not in cycles_of(course) or course.nunique() < 3:
                continue
            values = course.to_numpy(dtype=float)
            share = min(max(persistence(values - values.mean(), 1)[0], 0.0), 1.0)
            fresh, phases = values[1:] - share * values[:-1], phase_of(course, cycle)[1:]
            groups = [fresh[phases == phase] for phase in np.unique(phases) if (phases == phase).sum() >= 2]
            if len(groups) >= 2 and np.unique(np.concatenate(groups)).size >= 2:
                outcome = (f"Kruskal-Wallis by {cycle}", *many_groups(groups)[1:])
                says = f"{y} is {extremes(course, cycle)}"
                found.append(
                    row_of("season", (y, when), len(course), outcome, ["tested on what is new in each step"], says)
                )
        if not found:
            return None
        best = min(found, key=lambda row: float(row["p"]))
        more = {
            "p": min(float(best["p"]) * len(found), 1.0),
            "checked": f"{best['checked']}; p raised for {len(found)} cycles",
        }
        return {**best, **(more if len(found) > 1 else {})}

    return (season,)


@app.cell(hide_code=True)
def method_extremes(pd, phase_of):
    def extremes(course: pd.Series, cycle: str) -> str:
        """In which phase of its cycle a course is usually highest and lowest, in words."""
        values, phases = pd.Series(course.to_numpy(dtype=float)), phase_of(course, cycle)
        window = {"hour": 24, "weekday": 7, "month": 12, "quarter": 4}[cycle]
        around = values - values.rolling(window, center=True, min_periods=window // 2).mean()
        levels = around.groupby(phases).mean()
        high, low = int(levels.idxmax()), int(levels.idxmin())
        if cycle == "weekday":
            days = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
            return f"highest on {days[high]} and lowest on {days[low]}"
        if cycle == "month":
            months = pd.date_range("2001-01-01", periods=12, freq="MS").strftime("%B")
            return f"highest in {months[high - 1]} and lowest in {months[low - 1]}"
        if cycle == "hour":
            return f"highest at {high}:00 and lowest at {low}:00"
        return f"highest in quarter {high} and lowest in quarter {low}"

    return (extremes,)


@app.cell(hide_code=True)
def method_step_at(np):
    def step_at(values: np.ndarray) -> int:
        """Where one step fits a series best: the place of the first value after it, not near the ends."""
        n, sums = len(values), np.cumsum(values - values.mean())[:-1]
        place, edge = np.arange(1, n), max(5, int(0.15 * n))
        gain = np.where((place >= edge) & (place <= n - edge), sums**2 / (place * (n - place)), -1.0)
        return int(np.argmax(gain)) + 1

    return (step_at,)


@app.cell(hide_code=True)
def method_breaks(
    course_of,
    np,
    pd,
    persistence,
    row_of,
    step_at,
    without_season,
):
    def breaks(table: pd.DataFrame, y: str, when: str) -> dict[str, object] | None:
        """Whether a measure stepped to another level once and stayed there: a cumulative-sum test.

        None where the series may wander by itself, for then no test can tell. The effect is what the step is beyond a line.
        """
        course = course_of(table, y, when)
        if len(course) < 24 or course.nunique() < 3:
            return None
        values, index = without_season(course), pd.PeriodIndex(course.index)
        n, at = len(values), step_at(values)
        rest = values - np.where(np.arange(n) < at, values[:at].mean(), values[at:].mean())
        share, uncertain, returning = persistence(rest, 2)
        if returning > -5.3 - 15 / n or rest.std() == 0:
            return None
        kept = min(max(share + uncertain, 0.0), 0.95)
        noise = np.sqrt(((rest[1:] - min(max(share, 0.0), 0.95) * rest[:-1]) ** 2).sum() / (n - 3)) / (1 - kept)
        statistic = abs(np.cumsum(values - values.mean())).max() / (noise * np.sqrt(n))
        design = np.column_stack([np.ones(n), np.arange(n) / n, np.arange(n) >= at]).astype(float)
        weights, inverse = np.linalg.lstsq(design, values, rcond=None)[0], np.linalg.inv(design.T @ design)
        size, reach = weights[2] / rest.std(), 2 * noise / rest.std() * np.sqrt(inverse[2, 2])
        before, after = values[:at].mean(), values[at:].mean()
        name, p = "step beyond a straight line in standard deviations", min(2 * np.exp(-2 * statistic**2), 1.0)
        outcome = ("cumulative sums", statistic, p, name, size, size - reach, size + reach)
        checked = ["likeness of neighbours allowed for", "the series keeps coming back to its level"]
        moved = "rose" if after > before else "fell"
        says = f"{y} {moved} at about {index[at]}, from {before:,.4g} to {after:,.4g} on average"
        return row_of("break", (y, when), n, outcome, checked, says)

    return (breaks,)


@app.cell(hide_code=True)
def method_within_span(pd):
    def within_span(moments: pd.Series, span: tuple[str, str]) -> pd.Series:
        """Which moments lie in a span of days, both ends included."""
        return (moments >= pd.Timestamp(span[0])) & (moments < pd.Timestamp(span[1]) + pd.Timedelta(days=1))

    return (within_span,)


@app.cell(hide_code=True)
def method_span_courses(
    STEP_WORDS,
    moments_of,
    np,
    numbers_of,
    pd,
    within_span,
):
    def span_courses(
        table: pd.DataFrame, y: str, when: str, spans: tuple[tuple[str, str], tuple[str, str]], how: str
    ) -> tuple[str, list[np.ndarray]]:
        """A measure for each step of two spans, in the finest steps with rows; empty where none fits."""
        frame = pd.DataFrame({"when": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
        for step in ("D", "W", "M", "h"):
            courses: list[np.ndarray] = []
            for span in spans:
                inside = frame[within_span(frame["when"], span)]
                if inside.empty:
                    return "", []
                grouped = inside["value"].groupby(inside["when"].dt.to_period(step))
                course = (grouped.sum() if how == "sum" else grouped.mean()).sort_index()
                every = pd.period_range(course.index[0], course.index[-1], freq=step) if len(course) >= 5 else course.index
                if len(course) < 5 or len(every) > 4000 or len(course) < 0.6 * len(every):
                    break
                course = course.reindex(every, fill_value=0.0) if how == "sum" else course
                if step == "D" and len(course) >= 28:
                    usual = course.groupby(course.index.start_time.day_of_week).transform("mean")
                    course = course - usual + course.mean()
                courses.append(course.to_numpy(dtype=float))
            if len(courses) == 2:
                return STEP_WORDS[step], courses
        return "", []

    return (span_courses,)


@app.cell(hide_code=True)
def method_without_far_off(np):
    def without_far_off(course: np.ndarray) -> np.ndarray:
        """Values more than eight usual distances from the middle set back to there: one wild step is no other level."""
        middle = np.median(course)
        reach = 8 * 1.4826 * np.median(np.abs(course - middle))
        return np.clip(course, middle - reach, middle + reach) if reach > 0 else course

    return (without_far_off,)


@app.cell(hide_code=True)
def method_change(
    np,
    pd,
    persistence,
    row_of,
    span_courses,
    stats,
    without_far_off,
):
    def change(
        table: pd.DataFrame, y: str, when: str, first: tuple[str, str], second: tuple[str, str], how: str = "mean"
    ) -> dict[str, object] | None:
        """Whether a measure has another level in a second span of time than in a first (ISO dates)."""
        word, courses = span_courses(table, y, when, (first, second), how)
        if not courses:
            return None
        held_back = [without_far_off(course) for course in courses]
        is_held = any((old != new).any() for old, new in zip(courses, held_back, strict=True))
        courses = held_back
        before, after = courses
        rest, n = np.concatenate([before - before.mean(), after - after.mean()]), len(before) + len(after)
        spread = np.sqrt((rest**2).sum() / (n - 2))
        if spread == 0:
            return None
        share, uncertain, returning = persistence(rest, 2)
        comes_back = returning < -4.5 - 10 / n
        share = min(max(share + 0.5 * uncertain, 0.0), 0.97) if comes_back else 0.97
        worth = [max(len(course) * (1 - share) / (1 + share), 1.0) for course in courses]
        parts = [course.var(ddof=1) / size for course, size in zip(courses, worth, strict=True)]
        freedom = sum(parts) ** 2 / sum(part**2 / max(size - 1, 0.5) for part, size in zip(parts, worth, strict=True))
        gap, error = after.mean() - before.mean(), np.sqrt(sum(parts))
        p, reach = 2 * stats.t.sf(abs(gap) / error, freedom), min(stats.t.ppf(0.975, freedom), 50.0) * error
        sizes = (gap / spread, (gap - reach) / spread, (gap + reach) / spread)
        outcome = ("Welch t with autocorrelated errors", gap / error, p, "change in standard deviations of a step", *sizes)
        held = "likeness of neighbours allowed for" if comes_back else "held against a series that wanders by itself"
        percent = f" ({gap / before.mean():+.1%})" if before.mean() > 0 else ""
        says = f"the {how} of {y} for each {word} {'rose' if gap > 0 else 'fell'} from {before.mean():,.4g}"
        says += f" ({first[0]} to {first[1]}) to {after.mean():,.4g} ({second[0]} to {second[1]}){percent}"
        checked = [f"one value for each {word}", held, *([f"a {word} far off all others held back"] if is_held else [])]
        return row_of("change", (y, when), n, outcome, checked, says)

    return (change,)


@app.cell(hide_code=True)
def method_explain_change(
    column_of,
    moments_of,
    np,
    numbers_of,
    pd,
    within_span,
):
    def explain_change(
        table: pd.DataFrame, y: str, when: str, first: tuple[str, str], second: tuple[str, str], by: str, how: str = "sum"
    ) -> pd.DataFrame:
        """Which labels of `by` a change of a total (or a mean) comes from; the parts add up exactly.

        `amount` is due to more or fewer rows (for a mean: to other shares of rows), `rate` to other values in them.
        """
        labels = column_of(table, by).astype(object).map(str, na_action="ignore").fillna("(missing)")
        frame = pd.DataFrame({"label": labels, "value": numbers_of(table, y), "when": moments_of(table, when)}).dropna()
        spans = [frame[within_span(frame["when"], span)].groupby("label")["value"] for span in (first, second)]
        names = sorted({*spans[0].groups, *spans[1].groups})
        rows = [span.size().reindex(names, fill_value=0).to_numpy(dtype=float) for span in spans]
        totals = [span.sum().reindex(names, fill_value=0.0).to_numpy(dtype=float) for span in spans]
        weights = rows if how == "sum" else [size / max(size.sum(), 1.0) for size in rows]
        means = [total / np.where(size > 0, size, np.nan) for total, size in zip(totals, rows, strict=True)]
        old, new = (np.where(np.isfinite(mean), mean, other) for mean, other in (means, means[::-1]))
        level = 0.0 if how == "sum" else (weights[0] @ old + weights[1] @ new) / 2
        amount = (weights[1] - weights[0]) * ((old + new) / 2 - level)
        rate = (weights[1] + weights[0]) / 2 * (new - old)
        parts = pd.DataFrame({"label": names, "first": weights[0] * old, "second": weights[1] * new})
        parts = parts.assign(amount=amount, rate=rate, change=amount + rate)
        whole = parts["change"].sum()
        parts["share"] = parts["change"] / whole if whole else np.nan
        order = parts["change"].abs().sort_values(ascending=False, kind="stable").index
        return parts.loc[order].reset_index(drop=True)

    return (explain_change,)


@app.cell(hide_code=True)
def method_least_effects():
    LEAST_EFFECTS = {
        "rank-biserial correlation": 0.2,
        "epsilon squared": 0.02,
        "Cramer's V": 0.1,
        "rank correlation": 0.2,
        "change over the whole time in standard deviations": 0.5,
        "step beyond a straight line in standard deviations": 0.5,
        "change in standard deviations of a step": 0.2,
    }
    return (LEAST_EFFECTS,)


@app.cell(hide_code=True)
def method_test_columns():
    TEST_COLUMNS = [
        *("kind", "table", "y", "x", "test", "n", "statistic", "p", "p_adjusted", "effect", "effect_name"),
        *("low", "high", "checked", "says", "is_finding"),
    ]
    return (TEST_COLUMNS,)


@app.cell(hide_code=True)
def method_examine(LEAST_EFFECTS, TEST_COLUMNS, examine_table, pd, stats):
    def examine(
        tables: dict[str, pd.DataFrame],
        roles: dict[str, dict[str, str]],
        first: tuple[tuple[str, str], ...] = (),
        spans: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (),
    ) -> pd.DataFrame:
        """All tests worth making, one row each, corrected together (Benjamini-Yekutieli, 5 %).

        `roles` says what each column is, `first` names (table, column) that come before others, `spans` are pairs of
        spans to compare. A finding has a corrected p of 0.05 or less and an effect of the least size in `LEAST_EFFECTS`.
        """
        rows: list[dict[str, object]] = []
        left_out: list[str] = []
        for name, table in tables.items():
            wanted = [column for owner, column in first if owner == name]
            found, skipped = examine_table(table, roles.get(name, {}), wanted, spans)
            rows += [{**row, "table": name} for row in found]
            left_out += [f"{name}: {why}" for why in skipped]
        tests = pd.DataFrame(rows, columns=TEST_COLUMNS)
        tests = tests[tests["p"].notna() & tests["effect"].notna()].reset_index(drop=True)
        chances = tests["p"].clip(0, 1).astype(float)
        tests["p_adjusted"] = stats.false_discovery_control(chances, method="by") if len(tests) else chances
        least = tests["effect_name"].map(LEAST_EFFECTS)
        tests["is_finding"] = (tests["p_adjusted"] <= 0.05) & (tests["effect"].abs() >= least)
        tests.attrs["left_out"] = left_out
        return tests

    return (examine,)


@app.cell(hide_code=True)
def method_examine_table(
    association,
    bonds_of,
    breaks,
    change,
    correlation,
    difference,
    independent_rows,
    is_key,
    made_of,
    moments_of,
    numbers_of,
    pd,
    ready_for_tests,
    season,
    settles,
    trend,
):
    def examine_table(
        table: pd.DataFrame,
        roles: dict[str, str],
        wanted: list[str],
        spans: tuple[tuple[tuple[str, str], tuple[str, str]], ...],
    ) -> tuple[list[dict[str, object]], list[str]]:
        """The tests of one table, and what was left out."""
        frame, measures, categories, when, left_out = ready_for_tests(table, roles, wanted)
        keys = {key: roles.get(key) == "category" for key in frame.columns if is_key(frame[key], roles.get(key, ""))}
        bonds = bonds_of(frame, measures + categories, list(keys))
        made = made_of(frame, measures)
        pairs = [(difference, y, x) for y in measures for x in categories]
        both = [(y, x) for place, y in enumerate(measures) for x in measures[place + 1 :]]
        pairs += [(correlation, y, x) for y, x in both if {y, x} not in made]
        both = [(y, x) for place, y in enumerate(categories) for x in categories[place + 1 :]]
        pairs += [(association, y, x) for y, x in both if not settles(frame, y, x)]
        rows: list[dict[str, object] | None] = []
        for method, y, x in pairs:
            part, note = independent_rows(frame, y, x, bonds, keys, bool(when))
            rows.append(method(part, y, x, note))
        shares = [column for column in categories if roles.get(column) == "flag"]
        for y in [*measures, *shares][:12] if when else []:
            timed = pd.DataFrame({y: numbers_of(table, y), when: moments_of(table, when)})
            rows += [trend(timed, y, when), season(timed, y, when), breaks(timed, y, when)]
            how = "sum" if roles.get(y) == "currency" else "mean"
            rows += [change(timed, y, when, *pair, how=how) for pair in spans if y in measures]
        left_out += [" and ".join(sorted(pair)) + " go together by how they are made" for pair in made]
        return [row for row in rows if row is not None], left_out

    return (examine_table,)


@app.cell(hide_code=True)
def method_ready_for_tests(
    columns_worth,
    labels_of,
    moments_of,
    np,
    numbers_of,
    panel_key,
    pd,
):
    def ready_for_tests(
        table: pd.DataFrame, roles: dict[str, str], wanted: list[str]
    ) -> tuple[pd.DataFrame, list[str], list[str], str, list[str]]:
        """A table as tests want it (typed, in order of time, 50,000 rows at most), and its columns."""
        sampled: list[str] = []
        if len(table) > 50_000:
            table = table.iloc[np.sort(np.random.default_rng(0).choice(len(table), 50_000, replace=False))]
            sampled.append("pairs of columns were tested on 50,000 rows, drawn with a fixed seed")
        measures, categories, left_out = columns_worth(table, roles, wanted)
        dates = [column for column in table.columns if roles.get(column) == "date"]
        moments = {column: moments_of(table, column) for column in dates}
        known = {column: (column in wanted, int(moments[column].notna().sum())) for column in dates}
        when = max(dates, key=known.__getitem__, default="")
        when = when if when and moments[when].nunique() >= 10 else ""
        parts = {column: numbers_of(table, column) for column in measures}
        others = [column for column in table.columns if roles.get(column) in ("id", "code", "category")]
        every = dict.fromkeys([*categories, *others])
        parts |= {column: labels_of(table, column, most=len(table), least=1) for column in every}
        parts |= moments
        frame = pd.DataFrame(parts).reset_index(drop=True)
        if when:
            panel = panel_key(frame, when, [key for key in others if key in frame.columns])
            frame = frame.sort_values([panel, when] if panel else when, kind="stable")
        return frame.reset_index(drop=True), measures, categories, when, sampled + left_out

    return (ready_for_tests,)


@app.cell(hide_code=True)
def method_columns_worth(
    labels_of,
    np,
    numbers_of,
    pd,
    stats,
    without_repeats,
):
    def columns_worth(
        table: pd.DataFrame, roles: dict[str, str], wanted: list[str], most: int = 12
    ) -> tuple[list[str], list[str], list[str]]:
        """Which measures and categories to test: wanted ones first, then those that tell most."""
        worth: dict[str, tuple[str, float]] = {}
        for column in dict.fromkeys(table.columns):
            role = roles.get(column, "")
            numbers = numbers_of(table, column) if role in ("measure", "currency") else pd.Series(dtype=float)
            if numbers.nunique() >= 3:
                worth[column] = ("measure", float(numbers.notna().mean()) * min(numbers.nunique() / 20, 1.0))
            elif role in ("category", "flag", "measure", "currency") or (column in wanted and role in ("code", "id")):
                labels = labels_of(table, column)
                shares = labels.value_counts(normalize=True).to_numpy(dtype=float)
                if len(shares) >= 2:
                    evenness = float(stats.entropy(shares)) / float(np.log(max(len(shares), 3)))
                    worth[column] = ("category", float(labels.notna().mean()) * evenness)
        order = sorted(worth, key=lambda column: (column not in wanted, -worth[column][1]))
        found = {kind: [column for column in order if worth[column][0] == kind] for kind in ("measure", "category")}
        measures, repeats = without_repeats(table, found["measure"])
        left_out = [*repeats, *(f"{column} was not tested: {most} come first" for column in measures[most:])]
        left_out += [f"{column} was not tested: {most} come first" for column in found["category"][most:]]
        return measures[:most], found["category"][:most], left_out

    return (columns_worth,)


@app.cell(hide_code=True)
def method_without_repeats(numbers_of, pd):
    def without_repeats(table: pd.DataFrame, measures: list[str]) -> tuple[list[str], list[str]]:
        """The measures without those that say the same as one before them."""
        ranks = pd.DataFrame({column: numbers_of(table, column) for column in measures}).head(20_000).rank()
        alike = ranks.corr().abs()
        kept: list[str] = []
        said: list[str] = []
        for column in measures:
            twin = next((other for other in kept if alike.loc[column, other] > 0.995), "")
            if twin:
                said.append(f"{column} was not tested: it says the same as {twin}")
            else:
                kept.append(column)
        return kept, said

    return (without_repeats,)


@app.cell(hide_code=True)
def method_is_key(pd):
    def is_key(values: pd.Series, role: str) -> bool:
        """Whether rows of one value may hang together: enough values, and several rows for each."""
        if role not in ("id", "code", "category", "date"):
            return False
        count, there = values.nunique(), int(values.notna().sum())
        return 5 <= count <= there / 2

    return (is_key,)


@app.cell(hide_code=True)
def method_panel_key(pd):
    def panel_key(frame: pd.DataFrame, when: str, keys: list[str]) -> str:
        """The column whose values each have a series of their own: with the date it names a row."""
        if frame[when].nunique() > 0.8 * len(frame):
            return ""
        for key in keys:
            pairs = frame[[key, when]].dropna()
            if len(pairs) >= 5 * max(pairs[key].nunique(), 1) and not pairs.empty and pairs.duplicated().mean() < 0.05:
                return key
        return ""

    return (panel_key,)


@app.cell(hide_code=True)
def method_settles(pd):
    def settles(frame: pd.DataFrame, y: str, x: str) -> bool:
        """Whether one category settles the other, like a city its country: no news, so no test."""
        pairs = frame[[y, x]].dropna().drop_duplicates()
        return len(pairs) <= max(pairs[y].nunique(), pairs[x].nunique())

    return (settles,)


@app.cell(hide_code=True)
def method_made_of(np, pd):
    def made_of(frame: pd.DataFrame, measures: list[str]) -> list[set[str]]:
        """Pairs of measures of which one is a sum, difference or product of the other and a third."""
        rows = frame[measures].dropna().head(200).to_numpy(dtype=float)
        pairs: list[set[str]] = []
        if len(rows) < 20:
            return pairs
        places = range(len(measures))
        for whole, a, b in [
            (whole, a, b) for whole in places for a in places for b in places if a < b and whole not in (a, b)
        ]:
            first, second, target = rows[:, a], rows[:, b], rows[:, whole]
            tolerance = 0.005 * max(float(np.abs(target).mean()), 1e-12)
            if any(np.median(np.abs(target - guess)) <= tolerance for guess in (first + second, first * second)):
                pairs += [{measures[whole], measures[a]}, {measures[whole], measures[b]}]
        return [pair for place, pair in enumerate(pairs) if pair not in pairs[:place]]

    return (made_of,)


@app.cell(hide_code=True)
def method_claim(pd):
    def claim(tests: pd.DataFrame, table: str, y: str, x: str, kind: str = "") -> dict[str, object] | None:
        """The row of one test; None if it was not made. Without a kind: that with the smallest p."""
        names = tests["y"].eq(y) & tests["x"].eq(x) | tests["y"].eq(x) & tests["x"].eq(y)
        rows = tests[tests["table"].eq(table) & names & (tests["kind"].eq(kind) | (kind == ""))]
        if rows.empty:
            return None
        return {str(name): value for name, value in rows.sort_values("p", kind="stable").iloc[0].items()}

    return (claim,)


@app.cell(hide_code=True)
def method_escaped():
    def escaped(text: str, longest: int = 400) -> str:
        """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
        plain = " ".join(text.split())
        plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
        return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)

    return (escaped,)


@app.cell(hide_code=True)
def method_say(escaped):
    def say(row: dict[str, object] | None) -> str:
        """A test as a sentence in markdown: what it says, how sure that is, and how strong."""
        if row is None:
            return "*This cannot be tested with the data and the repairs chosen now.*"
        p, n = float(row["p_adjusted"]), int(row["n"])
        sure = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
        numbers = (
            f"{escaped(str(row['test']))}, n = {n:,}, {sure} corrected for all tests; "
            f"{escaped(str(row['effect_name']))} {float(row['effect']):.2f}, "
            f"95 % interval {float(row['low']):.2f} to {float(row['high']):.2f}; {escaped(str(row['checked']))}"
        )
        if row["is_finding"]:
            words = str(row["says"]).strip().rstrip(".")
            return f"**{escaped(words[:1].upper() + words[1:])}.** ({numbers})"
        pair = f"{escaped(str(row['y']), 100)} and {escaped(str(row['x']), 100)}"
        why = "it may well be chance" if p > 0.05 else "it is too weak to mention"
        return f"*No {escaped(str(row['kind']))} found for {pair} with the data and repairs chosen now: {why}.* ({numbers})"

    return (say,)


@app.cell(hide_code=True)
def method_points_over_time(moments_of, numbers_of, pd):
    def points_over_time(table: pd.DataFrame, y: str, when: str, most: int = 400, how: str = "mean") -> pd.DataFrame:
        """The mean or sum of `y` per hour, day, week, month or year: the finest step that leaves at most `most` points."""
        frame = pd.DataFrame({"time": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
        steps = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}
        if (frame["time"] == frame["time"].dt.normalize()).all():
            del steps["hour"]
        starts = {step: frame["time"].dt.to_period(code).dt.start_time for step, code in steps.items()}
        step = next((step for step, start in starts.items() if start.nunique() <= most), "year")
        grouped = frame["value"].groupby(starts[step])
        points = pd.DataFrame({"value": grouped.sum() if how == "sum" else grouped.mean(), "count": grouped.count()})
        return points.rename_axis("time").reset_index().assign(step=step).tail(most)

    return (points_over_time,)


@app.cell(hide_code=True)
def method_with_spans(pd):
    def with_spans(points: pd.DataFrame, spans: list[list[str]]) -> pd.DataFrame:
        """The points of a course, each with the span of days it lies in; those of other days come last."""
        points = points.assign(span="other days")
        for first, last in spans:
            inside = (points["time"] >= pd.Timestamp(first)) & (points["time"] < pd.Timestamp(last) + pd.Timedelta(days=1))
            points.loc[inside, "span"] = f"{first} to {last}"
        points = points.sort_values("time", kind="stable")
        # A line goes on only while the span stays the same.
        points["stretch"] = (points["span"] != points["span"].shift()).cumsum()
        return points.sort_values(["span", "time"], kind="stable")

    return (with_spans,)


@app.cell(hide_code=True)
def method_usual_range(pd):
    def usual_range(values: pd.Series) -> list[float]:
        """Where an axis should end: at the ends, or, where a few values lie far off, a little beyond all others."""
        if values.empty:
            return [0.0, 1.0]
        ends, usual = (values.min(), values.max()), (values.quantile(0.02), values.quantile(0.98))
        reach = max(usual[1] - usual[0], 1e-9)
        low = ends[0] if ends[0] >= usual[0] - 3 * reach else usual[0] - 0.2 * reach
        high = ends[1] if ends[1] <= usual[1] + 3 * reach else usual[1] + 0.2 * reach
        return [float(low), float(high) if high > low else float(low) + 1.0]

    return (usual_range,)


@app.cell(hide_code=True)
def method_chart_headline():
    def chart_headline(row, otherwise: str):
        """A chart's title: what the test says while it holds, else only what is shown. In lines that fit."""
        import textwrap

        words = str(row["says"]) if row and row["is_finding"] else otherwise
        return textwrap.wrap(words[:1].upper() + words[1:], 70)[:3]

    return (chart_headline,)


@app.cell(hide_code=True)
def method_group_summary(labels_of, np, numbers_of, pd, stats):
    def group_summary(table: pd.DataFrame, y: str, x: str, most: int = 12) -> pd.DataFrame:
        """Per group: how many, the middle half, the median, and between what the true median is likely (95 %).

        The interval takes the values as they are, by counting ranks: no bell curve is assumed.
        """
        frame = pd.DataFrame({"group": labels_of(table, x, most), "value": numbers_of(table, y)}).dropna()
        rows = list[tuple[object, ...]]()
        for group, values in frame.groupby("group", observed=True)["value"]:
            ordered = np.sort(values.to_numpy())
            count = len(ordered)
            rank = int(stats.binom.ppf(0.025, count, 0.5))
            quarter, median, three_quarters = np.quantile(ordered, [0.25, 0.5, 0.75])
            low, high = (ordered[rank - 1], ordered[count - rank]) if rank else (ordered[0], ordered[-1])
            rows.append((str(group), count, quarter, median, three_quarters, low, high))
        columns = ["group", "count", "quarter", "median", "three_quarters", "low", "high"]
        return pd.DataFrame(rows, columns=columns).sort_values(["median", "group"], ascending=[False, True])

    return (group_summary,)


@app.cell(hide_code=True)
def method_density_of_pairs(np, numbers_of, pd):
    def density_of_pairs(table: pd.DataFrame, y: str, x: str, steps: int = 32) -> pd.DataFrame:
        """How many rows fall into each small field of `x` and `y`; the outermost hundredth at each edge is left out."""
        frame = pd.DataFrame({"x": numbers_of(table, x), "y": numbers_of(table, y)}).dropna()
        if frame.empty:
            return pd.DataFrame({"x": [], "x_end": [], "y": [], "y_end": [], "count": []})
        ends = [tuple(map(float, frame[axis].quantile([0.01, 0.99]))) for axis in ("x", "y")]
        edges = [np.linspace(low, high if high > low else low + 1, steps + 1) for low, high in ends]
        counts, x_edges, y_edges = np.histogram2d(frame["x"], frame["y"], bins=edges)
        column, row = np.nonzero(counts)
        fields = {"x": x_edges[column], "x_end": x_edges[column + 1], "y": y_edges[row], "y_end": y_edges[row + 1]}
        return pd.DataFrame({**fields, "count": counts[column, row].astype(int)})

    return (density_of_pairs,)


@app.cell(hide_code=True)
def method_season_profile(moments_of, numbers_of, pd):
    def season_profile(table: pd.DataFrame, y: str, when: str, unit: str) -> pd.DataFrame:
        """The mean of `y` per quarter, month, weekday or hour over all years, and the middle half of its values."""
        frame = pd.DataFrame({"time": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
        times = frame["time"].dt
        if unit == "month":
            part, names = times.month, times.strftime("%b")
        elif unit == "weekday":
            part, names = times.day_of_week, times.strftime("%a")
        elif unit == "quarter":
            part, names = times.quarter, "quarter " + times.quarter.astype(str)
        else:
            part, names = times.hour, times.strftime("%H:00")
        grouped = frame.assign(part=part, name=names).groupby(["part", "name"])["value"]
        summary = {"value": grouped.mean(), "count": grouped.count()}
        middle = {"quarter": grouped.quantile(0.25), "three_quarters": grouped.quantile(0.75)}
        return pd.DataFrame({**summary, **middle}).reset_index()

    return (season_profile,)


@app.cell(hide_code=True)
def method_with_labels():
    def with_labels(row, labels: dict[str, str]):
        """The row of a test, or None, with columns called and large numbers written as a reader would."""
        import re

        if row is None:
            return row
        says = re.sub(r"(?<![\w.])\d\.?\d*e\+\d+", lambda found: f"{float(found[0]):,.0f}", str(row["says"]))
        names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(labels, key=len, reverse=True))
        return {**row, "says": re.sub(names, lambda found: labels[found[0]], says) if labels else says}

    return (with_labels,)


@app.cell(hide_code=True)
def method_could_be_seen():
    def could_be_seen(row) -> str:
        """How large an effect may hide behind a test that found nothing: what its interval does not rule out."""
        if row is None or row["is_finding"] or row["high"] != row["high"]:
            return ""
        reach = max(abs(row["low"]), abs(row["high"]))
        scale = "" if "deviation" in row["effect_name"] else "; 0 is none, 1 the largest there is"
        return (
            f"With n = {row['n']:,}, the data speaks against an effect beyond {reach:.2g} ({row['effect_name']}{scale}). "
            "A smaller one may be there and was not seen."
        )

    return (could_be_seen,)


@app.cell(hide_code=True)
def method_telling_order():
    def telling_order(parts):
        """Columns by how much more of a change one of their labels makes up than its size would lead one to expect."""

        def surprise(table) -> float:
            whole, before = table["change"].sum(), table["first"].abs().sum()
            if len(table) < 2 or len(table) > 30 or not whole or not before:
                return -1.0
            return float((table["change"] / whole - table["first"].abs() / before).max())

        order, told = sorted(parts, key=lambda name: -surprise(parts[name])), list[str]()
        alike = {name: tuple(sorted(parts[name]["change"].round(6))) for name in order}
        # Columns that say the same, such as a code and its name, are told once.
        for name in order:
            told += [name] if alike[name] not in [alike[other] for other in told] else []
        return told

    return (telling_order,)


@app.cell(hide_code=True)
def method_in_figures():
    def in_figures(value: float) -> str:
        """A number as people write it: no more digits than anybody reads."""
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"

    return (in_figures,)


@app.cell(hide_code=True)
def method_largest_shares():
    def largest_shares(table) -> str:
        """The parts that make up most of a change: those that go its way, up to three, until four fifths are told."""
        told, sum_told = list[str](), 0.0
        for label, share in zip(table.iloc[:3, 0], table["share"][:3], strict=True):
            if share <= 0 or sum_told >= 0.8:
                break
            told.append(f"{label} ({share:.0%} of it)")
            sum_told += share
        return " and ".join(filter(None, [", ".join(told[:-1]), *told[-1:]]))

    return (largest_shares,)


@app.cell(hide_code=True)
def method_why_it_changed(in_figures, largest_shares, telling_order):
    def why_it_changed(row, parts, what: str) -> str:
        """By how much it changed and what that comes from; where it may be chance, only by how much, and that it may."""
        order = telling_order(parts)
        table = parts[order[0]]
        first, second, whole = table["first"].sum(), table["second"].sum(), table["change"].sum()
        if row is None or not whole:
            return ""
        percent = f" ({whole / abs(first):+.1%})" if first else ""
        moved = f"The {what} {'rose' if whole > 0 else 'fell'} from {in_figures(first)} to {in_figures(second)}{percent}"
        if not row["is_finding"]:
            return f"{moved}, which may well be chance: see the test."
        ways = [f"by {name}, from {shares}" for name in order[:2] if (shares := largest_shares(parts[name]))]
        return f"{moved}. It comes, {'; '.join(ways)}." if ways else f"{moved}."

    return (why_it_changed,)


@app.cell(hide_code=True)
def method_largest_parts():
    def largest_parts(table, most: int = 12):
        """The largest parts of a change for a chart, the rest put together as one."""
        parts = table.rename(columns={table.columns[0]: "label"})
        if len(parts) > most:
            rest = parts.iloc[most:].drop(columns="label").sum()
            parts = parts.iloc[:most].copy()
            parts.loc[len(parts)] = {"label": "(all others)", **rest}
        return parts.sort_values("change", kind="stable")

    return (largest_parts,)


@app.cell
def answer_sentences(
    amount_by_product_group_finding,
    amount_by_segment_finding,
    amount_change_finding,
    amount_change_finding_because,
    customers,
    customers_repaired,
    customers_repairs,
    orders,
    orders_repaired,
    orders_repairs,
    repairs_in_use,
    told_in_brief,
):
    answer_sentences = [
        told_in_brief(amount_change_finding, "Amount (EUR), Q3 2025 against the same time a year before"),
        amount_change_finding_because,
        told_in_brief(amount_by_segment_finding, "Amount (EUR) by segment"),
        told_in_brief(amount_by_product_group_finding, "Amount (EUR) by product group"),
        f"The data: orders ({len(orders):,} rows, 11 columns, from 2024-01-01 to 2025-12-31) and customers ({len(customers):,} rows, 10 columns, from 2019-01-03 to 2023-12-29).",
        "How far to trust it: 3 problems and 10 things to watch found in the files, first of all: 2 rows of order_id are labelled 'Total 2024', 'Total 2025': sums among the data.",
        repairs_in_use({"orders": (orders_repaired, orders_repairs.value), "customers": (customers_repaired, customers_repairs.value)}),
    ]
    answer_text = "\n\n".join(filter(None, answer_sentences))
    return answer_sentences, answer_text


@app.cell(hide_code=True)
def method_told_in_brief():
    def told_in_brief(row, otherwise: str) -> str:
        """One sentence for the answer: what was found, or that nothing could be told from chance, with its test."""
        if row is None:
            return f"{otherwise}: not tested, because the data as it stands does not allow it."
        p = row["p_adjusted"]
        sure = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        proof = f"({row['test']}, n = {row['n']:,}, corrected {sure})"
        if row["is_finding"]:
            words = str(row["says"]).rstrip(".")
            return f"{words[:1].upper()}{words[1:]} {proof}."
        if p <= 0.05:
            return f"{otherwise}: there is a pattern, but too weak to matter {proof}."
        return f"{otherwise}: nothing that could be told from chance {proof}."

    return (told_in_brief,)


@app.cell(hide_code=True)
def method_repairs_in_use():
    def repairs_in_use(repairs) -> str:
        """Which repairs are on and off at this moment, and how much each touches: from each table's log and switches."""
        on, off = list[str](), list[str]()
        for table, (log, switches) in repairs.items():
            touches = dict(zip(log["repair"], log["touches"], strict=True))
            for repair, is_on in switches.items():
                (on if is_on else off).append(f"{repair} in {table} ({touches.get(repair, 0):,})")
        if not on and not off:
            return "No repair of the data was needed."
        told = [f"Repairs that are on: {', '.join(on[:6])}{' and more' if on[6:] else ''}." if on else "No repair is on."]
        told += [f"Off, for you to decide: {', '.join(off[:4])}{' and more' if off[4:] else ''}."] if off else []
        return " ".join(told)

    return (repairs_in_use,)


@app.cell
def check_orders_reading(orders_as_read):
    def test_orders_is_read_as_it_was_found():
        assert orders_as_read.shape[1] >= 11
        assert len(orders_as_read) >= 5228

    return


@app.cell
def check_customers_reading(customers_as_read):
    def test_customers_is_read_as_it_was_found():
        assert customers_as_read.shape[1] >= 10
        assert len(customers_as_read) >= 600

    return


@app.cell
def check_orders_repairs_are_counted(
    orders,
    orders_as_read,
    orders_repaired,
    orders_repairs,
):
    def test_orders_repairs_are_counted():
        assert set(orders_repairs.value) <= set(orders_repaired["repair"])
        assert len(orders) <= len(orders_as_read)

    return


@app.cell
def check_customers_repairs_are_counted(
    customers,
    customers_as_read,
    customers_repaired,
    customers_repairs,
):
    def test_customers_repairs_are_counted():
        assert set(customers_repairs.value) <= set(customers_repaired["repair"])
        assert len(customers) <= len(customers_as_read)
        assert len(customers) == len(customers_as_read)

    return


@app.cell
def check_customers_key_is_unique(customers):
    def test_customers_key_is_unique():
        assert not customers["customer_id"].dropna().duplicated().any()

    return


@app.cell
def check_orders_with_customers_has_every_row_once(
    orders,
    orders_with_customers,
):
    def test_orders_with_customers_has_every_row_once():
        assert len(orders_with_customers) == len(orders)

    return


@app.cell
def check_that_tests_are_counted(np, stats, tests):
    def test_every_test_is_counted():
        """Correcting the p-values of all tests again gives the same: none was left out of the family."""
        corrected = stats.false_discovery_control(tests["p"], method="by") if len(tests) else []
        assert np.allclose(corrected, tests["p_adjusted"], rtol=1e-6)

    return


@app.cell
def check_that_findings_are_certain(tests):
    def test_findings_are_certain_and_complete():
        """Every finding is certain after the correction, and has an effect with its interval."""
        found = tests[tests["is_finding"].astype(bool)]
        assert (found["p_adjusted"] <= 0.05).all()
        assert found[["effect", "low", "high"]].notna().all(axis=None)
        assert found["says"].str.len().gt(0).all()

    return


@app.cell
def check_that_claims_have_tests(
    amount_and_quantity_finding,
    amount_and_weight_kg_finding,
    amount_by_product_group_finding,
    amount_by_segment_finding,
    amount_change_finding,
    amount_season_finding,
    quantity_by_segment_finding,
    shipping_days_by_channel_finding,
    tests,
):
    def test_every_claim_has_its_test():
        """Each claim rests on one row of the table of tests; where there is none, nothing is claimed."""
        told = [
            ["change", "orders_with_customers", "amount", "order_date"],
            ["difference", "orders_with_customers", "amount", "segment"],
            ["difference", "orders_with_customers", "amount", "product_group"],
            ["correlation", "orders_with_customers", "amount", "weight_kg"],
            ["correlation", "orders_with_customers", "amount", "quantity"],
            ["season", "orders_with_customers", "amount", "order_date"],
            ["difference", "orders_with_customers", "shipping_days", "channel"],
            ["difference", "orders_with_customers", "quantity", "segment"],
        ]
        made = tests[["kind", "table", "y", "x"]].to_numpy().tolist()
        assert all(made.count(key) <= 1 for key in told)
        found = [amount_change_finding, amount_by_segment_finding, amount_by_product_group_finding, amount_and_weight_kg_finding, amount_and_quantity_finding, amount_season_finding, shipping_days_by_channel_finding, quantity_by_segment_finding]
        assert all(row is None or [row["kind"], row["table"], row["y"], row["x"]] in made for row in found)

    return


@app.cell
def check_that_there_is_an_answer(answer_sentences, answer_text):
    def test_the_answer_is_made_of_its_sentences():
        """Each of them stands in it once, in their order, and there is at least one."""
        said = [each for each in answer_sentences if each]
        assert said
        assert answer_text == "\n\n".join(said)

    return


if __name__ == "__main__":
    app.run()
