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
def title(mo):
    mo.md(r"""
    # Why did revenue fall in Q3 2025?

    The answer first, then what it rests on.
    """)
    return


@app.cell(hide_code=True)
def report_headline(escaped, mo, told):
    mo.md(f"# {escaped(told['headline'])}\n\n{escaped(' '.join(filter(None, told['trust'])), 900)}")
    return


@app.cell(hide_code=True)
def report_picture(alt, both, change, first, pd, second, segment, short):
    _labels = both[list(segment["columns"])].astype(object).fillna("(missing)")
    _rows = both.assign(_value=both["amount"], _part=_labels.iloc[:, 0].map(str))
    _rows.loc[_labels.eq(list(segment["labels"])).all(axis=1), "_part"] = segment["name"]
    _bars = _rows.groupby(["_period", "_part"])["_value"].sum().reset_index().set_axis(["period", "part", "value"], axis=1)
    _parts = [segment["name"], *sorted(set(_bars["part"]) - {segment["name"]})]
    _bars["order"] = _bars["part"].map(_parts.index)
    _names = list(both["_period"].unique())
    _ends = pd.DataFrame({"period": _names, "value": [first, second][: len(_names)]})
    _ends["text"] = [f"{short(first, '€')}", f"{short(second, '€')} ({change / first:+.1%})" if first else ""][: len(_names)]
    _y = alt.Y("period:N", sort=_names, title=None, axis=alt.Axis(labelFontSize=13))
    _scale = alt.Scale(domainMax=float(max(first, second)) * 1.3)
    _colours = alt.Scale(domain=_parts, range=["#D55E00", "#0072B2", "#56B4E9", "#009E73", "#999999", "#CC79A7", "#F0E442"])
    _stack = alt.Chart(_bars, title="revenue (EUR), by where the change is").mark_bar().encode(
        y=_y,
        x=alt.X("value:Q", stack="zero", title="revenue (EUR)", scale=_scale),
        color=alt.Color("part:N", title=None, scale=_colours, legend=alt.Legend(orient="bottom", columns=3)),
        order="order:Q",
        tooltip=["period", "part", alt.Tooltip("value:Q", format=",.4~r")],
    )
    _text = alt.Chart(_ends).mark_text(align="left", dx=6, fontSize=13).encode(y=_y, x="value:Q", text="text:N")
    (_stack + _text).properties(width="container", height=150)
    return


@app.cell(hide_code=True)
def report_finding_1(alt, escaped, mo, segment, segments, where):
    _bars = segments.nlargest(6, "surprise")[["name", "change"]].assign(is_told=lambda _each: _each["name"] == segment["name"])
    _chart = alt.Chart(_bars, title="Where it changed more than the rest did").mark_bar().encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=180)),
        x=alt.X("change:Q", title="change of revenue (EUR)"),
        color=alt.condition("datum.is_told", alt.value("#D55E00"), alt.value("#999999")),
        tooltip=["name:N", alt.Tooltip("change:Q", format="+,.4~r")],
    ).properties(width="container", height=alt.Step(18))
    mo.vstack([mo.md(escaped(where["says"], 600)), _chart, mo.accordion({"How sure is that?": mo.md(escaped(where["statistics"], 900))})])
    return


@app.cell(hide_code=True)
def report_finding_2(alt, escaped, mo, pd, through):
    _bars = pd.DataFrame({"label": list(through["bars"]), "change": list(through["bars"].values())})
    _chart = alt.Chart(_bars, title="Through their number and their size").mark_bar().encode(
        y=alt.Y("label:N", sort=None, title=None),
        x=alt.X("change:Q", title="change of revenue (EUR)"),
        color=alt.condition("datum.change < 0", alt.value("#D55E00"), alt.value("#0072B2")),
        tooltip=["label:N", alt.Tooltip("change:Q", format="+,.4~r")],
    ).properties(width="container", height=alt.Step(22))
    mo.vstack([mo.md(escaped(through["says"], 600)), _chart])
    return


@app.cell(hide_code=True)
def report_finding_3(alt, course, escaped, mo, pd, periods, season):
    _course = course.rename_axis("time").reset_index(name="value").dropna()
    _spans = pd.DataFrame([{"from": str(_first), "to": str(_last)} for _first, _last in periods.value.values()])
    _top = max(float(_course["value"].quantile(0.95)) * 1.3, 1e-9) if len(_course) else 1.0
    _line = alt.Chart(_course, title="revenue (EUR) per month").mark_line(color="#0072B2", clip=True).encode(
        x=alt.X("time:T", title=None),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domainMax=_top)),
        tooltip=[alt.Tooltip("time:T", title="month from"), alt.Tooltip("value:Q", title="revenue (EUR)", format=",.4~r")],
    )
    _marked = alt.Chart(_spans).mark_rect(opacity=0.2, color="#D55E00").encode(x="from:T", x2="to:T")
    _chart = (_marked + _line).properties(width="container", height=100)
    mo.vstack([mo.md(escaped(season["says"], 600)), _chart])
    return


@app.cell(hide_code=True)
def choices(mo, periods, repairs):
    mo.sidebar(mo.vstack([mo.md("### What if"), periods.vstack(), repairs.vstack()], gap=1.5), width="20rem")
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
    from itertools import combinations

    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import special

    return alt, combinations, np, pd, special


@app.cell
def repairs(mo):
    # Off until you decide: each changes the answer above.
    repairs = mo.ui.dictionary(
        {
            "duplicate rows in orders": mo.ui.switch(label="**duplicate rows** are dropped but for the first of each: 24 rows"),
            "outliers in orders": mo.ui.switch(label="**outliers** far from all other values become missing (16.906,95 €, 10.688,19 €, 10.686,40 €, 7.785,87 € and 5 more) in amount: 9 values"),
            "similar labels in orders": mo.ui.switch(label="**similar labels** are written as the commonest of them (Kitchen, Kichen, Kitchen, kitchen and 3 more) in product\\_group: 70 values"),
        }
    )
    return (repairs,)


@app.cell
def read_orders(orders_csv, pd):
    orders_as_read = pd.read_csv(
        orders_csv, sep=";", encoding="utf-8", encoding_errors="replace", usecols=range(11),
        index_col=False, dtype="str", keep_default_na=False, na_values=[""],
    )
    return (orders_as_read,)


@app.cell
def orders(orders_as_read, pd, repairs):
    _rows = orders_as_read
    _texts = _rows
    # No data: footnotes, repeated headers, total rows.
    _dropped = (
        (pd.Series(_rows.index >= 5226, index=_rows.index))
        | ((_texts == list(_texts.columns)).sum(axis=1) * 2 > _texts.notna().sum(axis=1))
        | (_texts["order_id"].str.strip().isin(["Total 2024", "Total 2025"]))
    )
    if repairs.value["duplicate rows in orders"]:
        _dropped |= _texts.duplicated()
    _rows = _rows[~_dropped]
    orders = pd.DataFrame(
        {
            "order_date": pd.to_datetime(_rows["order_date"].str.strip(), format="%Y-%m-%d", errors="coerce").fillna(pd.to_datetime(_rows["order_date"].str.strip(), format="%d.%m.%Y", errors="coerce")),
            "customer_id": _rows["customer_id"],
            "product_group": _rows["product_group"].str.strip(),
            "channel": _rows["channel"],
            "amount": pd.to_numeric(_rows["amount"].str.replace(r"[€\.\s]", "", regex=True).str.replace(",", ".", regex=False), errors="coerce"),
            "packed_by": _rows["packed_by"],
        }
    )
    if repairs.value["outliers in orders"]:
        orders["amount"] = orders["amount"].mask(orders["amount"].isin([16906.95, 10688.19, 10686.4, 7785.87, 6483.81, 5360.83, 2716.52, 2622.37, 1659.68]))
    if repairs.value["similar labels in orders"]:
        orders["product_group"] = orders["product_group"].replace({"Kichen": "Kitchen", "Kitchen ": "Kitchen", "kitchen": "Kitchen", "Lightning": "Lighting", "LIGHTING": "Lighting"})
    return (orders,)


@app.cell
def read_customers(customers_csv, pd):
    customers_as_read = pd.read_csv(
        customers_csv, sep=",", encoding="cp1252", encoding_errors="replace", index_col=False,
        dtype="str", keep_default_na=False, na_values=[""],
    )
    return (customers_as_read,)


@app.cell
def customers(customers_as_read, pd):
    _rows = customers_as_read
    customers = pd.DataFrame(
        {
            "customer_id": _rows["customer_id"],
            "city": _rows["city"],
            "region": _rows["region"],
            "segment": _rows["segment"],
            "newsletter": _rows["newsletter"],
        }
    )
    return (customers,)


@app.cell
def orders_with_customers(customers, orders):
    _left = orders.assign(joined_by=orders["customer_id"])
    _right = customers.assign(joined_by=customers["customer_id"]).drop(columns="customer_id")
    # One row per key on the right, so that no row on the left is counted twice.
    _right = _right.dropna(subset="joined_by").drop_duplicates("joined_by")
    orders_with_customers = _left.merge(_right, how="left", on="joined_by", validate="many_to_one")
    orders_with_customers = orders_with_customers.drop(columns="joined_by")
    return (orders_with_customers,)


@app.cell
def periods(mo):
    periods = mo.ui.dictionary(
        {
            "now": mo.ui.date_range(start="2024-01-01", stop="2025-12-31", value=("2025-07-01", "2025-09-30"), label="Period"),
            "before": mo.ui.date_range(start="2024-01-01", stop="2025-12-31", value=("2024-07-01", "2024-09-30"), label="held against"),
        }
    )
    return (periods,)


@app.cell
def change(during, named, orders_with_customers, pd, periods):
    selected = orders_with_customers
    now = during(selected, "order_date", periods.value["now"])
    before = during(selected, "order_date", periods.value["before"])
    first, second = before["amount"].sum(), now["amount"].sum()
    change = second - first
    both = pd.concat([
        before.assign(_span="first", _period=named(periods.value["before"])),
        now.assign(_span="second", _period=named(periods.value["now"])),
    ])
    return before, both, change, first, now, second, selected


@app.cell
def segments(both, change, combinations, first, np, pd, second):
    # Every label and every pair of labels: what each makes up of the change.
    _columns = ["segment", "newsletter", "channel", "region", "packed_by", "product_group", "city"]
    _rows = both.assign(_amount=both["amount"]).dropna(subset="_amount")
    _rows[_columns] = _rows[_columns].astype(object).fillna("(missing)")
    _found = []
    for _key in [*combinations(_columns, 1), *combinations(_columns, 2)]:
        _sums = _rows.groupby([*_key, "_span"])["_amount"].agg(["sum", "size"]).unstack("_span", fill_value=0)
        _sums = _sums.reindex(columns=[(_what, _span) for _what in ("sum", "size") for _span in ("first", "second")])
        _sums = _sums.set_axis(["first", "second", "rows_first", "rows_second"], axis=1).fillna(0)
        _labels = [_each if isinstance(_each, tuple) else (_each,) for _each in _sums.index]
        _found.append(_sums.assign(columns=[_key] * len(_sums), labels=_labels))
    segments = pd.concat(_found, ignore_index=True)
    segments["change"] = segments["second"] - segments["first"]
    # How surprising each is, given what all others did: how much likelier it is with a rate of its own.
    _is, _all = segments["second"].clip(lower=1e-9), max(float(second), 1e-9)
    _others = (_all - _is).clip(lower=1e-9)
    _expected = (segments["first"] * (second / first if first else 1)).clip(1e-9, _all)
    _surprise = _is * np.log(_is / _expected) + _others * np.log(_others / (_all - _expected).clip(lower=1e-9))
    # A pair must tell clearly more than the better half of it; what went the other way explains nothing.
    segments["surprise"] = _surprise * segments["labels"].map(lambda _each: 0.85 if len(_each) > 1 else 1.0)
    segments.loc[~(segments["change"] * change > 0), "surprise"] = 0.0
    segments["name"] = segments["labels"].map(lambda _each: " × ".join(map(str, _each)))
    segment = segments.loc[segments["surprise"].idxmax()]
    # Without the segment, how did each of its labels do? Where little is left of the change, it is one segment, not two.
    _left = []
    for _column, _label in zip(segment["columns"], segment["labels"], strict=True):
        _whole = segments[(segments["columns"] == (_column,)) & (segments["labels"] == (_label,))].iloc[0]
        _rest = _whole["first"] - segment["first"], _whole["second"] - segment["second"]
        _left.append(f"{_label} {_rest[1] / _rest[0] - 1:+.0%}" if _rest[0] else f"{_label} has nothing else")
    apart = f", one segment: without it {', '.join(_left)}" if len(_left) > 1 else ""
    return apart, segment, segments


@app.cell
def certainty(before, change_test, now, pd, segment, segments):
    def _daily(_rows, _every):
        _days = pd.date_range(*_every["order_date"].agg(["min", "max"]), normalize=True) if len(_every) else []
        return _rows.set_index("order_date")["amount"].resample("D").sum().reindex(_days, fill_value=0)


    _there = [
        _rows[_rows[list(segment["columns"])].astype(object).fillna("(missing)").eq(list(segment["labels"])).all(axis=1)]
        for _rows in (before, now)
    ]
    # The segment is the most surprising of all that were looked at: its p counts every one of them.
    _whole = change_test(_daily(before, before), _daily(now, now))
    _part = change_test(_daily(_there[0], before), _daily(_there[1], now), times=1 + len(segments))
    has_segment = _part["p"] <= 0.05
    statistics = f"The whole: {_whole['says']} The segment: {_part['says']}"
    is_certain = _whole["p"] <= 0.05 and abs(_whole["effect"]) >= 0.2
    sure = "The change is more than chance would do." if is_certain else "Chance alone may do this: nothing certain."
    return has_segment, is_certain, statistics, sure


@app.cell
def headline(
    apart,
    before,
    change,
    first,
    has_segment,
    is_certain,
    named,
    now,
    periods,
    second,
    segment,
    segments,
    short,
    statistics,
):
    _moved = f"{'rose' if change > 0 else 'fell'} {abs(change / first):.1%}" if first else "changed"
    headline = f"Revenue {_moved} in {named(periods.value['now'])}, from {short(first, '€')} to {short(second, '€')}"
    if has_segment:
        headline += f"; {segment['change'] / change:.0%} of it in {segment['name']}" if is_certain else f"; {segment['name']} did change"
    where = {
        "says": f"{segment['change'] / change:.0%} of the change ({short(segment['change'], '€')} of {short(change, '€')}) is {segment['name']}{apart}."
        if has_segment
        else "No part stands out: what changed is spread over all groups.",
        "statistics": statistics,
        "bars": dict(segments.nlargest(4, "surprise").set_index("name")["change"].astype(float)),
    }
    headline += "" if is_certain else "; as a whole chance alone may do that"
    headline = headline if len(now) and len(before) else "One of the two periods has no rows: what is missing is not zero"
    return headline, where


@app.cell
def through(before, change, now, np, short):
    # The change through the number of orders and through the size of each: the two add up to it exactly.
    _number = [_rows["amount"].count() for _rows in (before, now)]
    _size = [_rows["amount"].mean() for _rows in (before, now)]
    _from_number = (_number[1] - _number[0]) * (_size[0] + _size[1]) / 2
    _from_size = (_size[1] - _size[0]) * (_number[0] + _number[1]) / 2
    _more = ["As many", "More", "Fewer"][int(np.sign(_number[1] - _number[0]))]
    _larger = "larger" if _size[1] > _size[0] else "smaller"
    _joint = "rather than" if abs(_from_number) > 2 * abs(_from_size) else "and"
    through = {
        "says": f"{_more} orders {_joint} {_larger} ones: {_number[0]:,} → {_number[1]:,} ({short(_from_number, '€')}), "
        f"each {short(_size[0], '€')} → {short(_size[1], '€')} ({short(_from_size, '€')}).",
        "bars": {"their number": float(_from_number), "their size": float(_from_size)},
    }
    if (_one := (now if change > 0 else before)["amount"].max()) > abs(change) / 2:
        through["says"] += f" One alone, of {short(_one, '€')}, makes up {_one / abs(change):.0%} of the change."
    return (through,)


@app.cell
def season(change, during, first, pd, periods, selected):
    course = selected.set_index("order_date")["amount"].resample("MS").sum(min_count=1)
    # The same comparison some periods earlier: has it been like this all along? Periods with gaps are left out.
    _changes = []
    for _back in (1, 2, 3):
        _spans = [[pd.Timestamp(_day) - pd.DateOffset(months=3 * _back) for _day in periods.value[_name]] for _name in ("before", "now")]
        _was, _is = [during(selected, "order_date", _span) for _span in _spans]
        _days = [_rows["order_date"].dt.normalize().nunique() for _rows in (_was, _is)]
        if min(_days) > 0.8 * max(_days):
            _changes.append(_is["amount"].sum() / _was["amount"].sum() - 1)
    _told = " and ".join(f"{_each:+.0%}" for _each in _changes)
    _size = abs(change / first) if first else 1.0
    if not _changes:
        _says = "Whether it is a season cannot be told: the data does not reach back far enough."
    elif max(map(abs, _changes)) < _size / 2:
        _says = f"A break rather than a season: {len(_changes)} period{'s' * (len(_changes) > 1)} earlier it was {_told}."
    else:
        _lead = "It has been going this way" if all(_each * change > 0 for _each in _changes) else "It varies"
        _says = f"{_lead}: earlier periods show {_told}."
    season = {"says": _says}
    return course, season


@app.cell
def told(headline, repairs, season, sure, through, where):
    _left = [_what for _switch, _what in {"duplicate rows in orders": "24 duplicate rows", "outliers in orders": "9 values far off all others", "similar labels in orders": "70 labels in other spellings"}.items() if not repairs.value[_switch]]
    told = {
        "headline": headline,
        "findings": [where, through, season],
        "trust": [
            sure,
            f"Yours to decide, left as they are: {', '.join(_left)}." if _left else "",
            "9 % of customer_id are not in customers.",
        ],
        "readings": [
            "“Revenue” was read as the sum of amount.",
            "It is held against the same time a year before, 2024-07-01 to 2024-09-30.",
        ],
    }
    return (told,)


@app.cell(hide_code=True)
def define_short(pd):
    def short(number, before: str = "", after: str = "") -> str:
        """A figure as people say it: €58.7k, 1,240, 3.41 kg."""
        if pd.isna(number):
            return "unknown"
        size, sign = abs(float(number)), "-" if number < 0 else ""
        for least, step, mark in ((1e9, 1e9, "bn"), (1e6, 1e6, "m"), (1e4, 1e3, "k"), (100, 1, "")):
            if size >= least:
                return f"{sign}{before}{size / step:,.{1 if 1 < size / step < 100 and mark else 0}f}{mark}{after}"
        return f"{sign}{before}{size:.3g}{after}"

    return (short,)


@app.cell(hide_code=True)
def define_named(pd):
    def named(span) -> str:
        """A span of days as people say it: Q3 2025, March 2025, 2025; any other by its days."""
        first, last = pd.Timestamp(span[0]), pd.Timestamp(span[1])
        for code, form in (("Y", "%Y"), ("Q", "Q%q %Y"), ("M", "%B %Y"), ("D", "%Y-%m-%d")):
            period = first.to_period(code)
            if (first, last) == (period.start_time, period.end_time.normalize()):
                return str(period.strftime(form))
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"

    return (named,)


@app.cell(hide_code=True)
def define_during(pd):
    def during(rows: pd.DataFrame, when: str, span) -> pd.DataFrame:
        """The rows of a span of days, both ends included."""
        first, last = pd.Timestamp(span[0]), pd.Timestamp(span[1]) + pd.Timedelta(days=1)
        return rows[(rows[when] >= first) & (rows[when] < last)]

    return (during,)


@app.cell(hide_code=True)
def define_change_test(np, pd, special):
    def change_test(first: pd.Series, second: pd.Series, times: int = 1) -> dict[str, object]:
        """Welch's t test on one value a day: weekdays levelled, days far off held back, days like the one before less."""
        days = []
        for each in (first, second):
            usual = each.groupby(each.index.day_of_week).transform("mean") if len(each) >= 28 else each.mean()
            level = each - usual + each.mean()
            reach = 8 * 1.4826 * (level - level.median()).abs().median() if len(each) else 0
            days.append(level.clip(level.median() - reach, level.median() + reach) if reach else level)
        rest, n = np.concatenate([each - each.mean() for each in days]), len(first) + len(second)
        if min(len(first), len(second)) < 5 or not np.ptp(rest):
            return {"p": 1.0, "effect": 0.0, "says": "too few days for a test."}
        past, spread = (rest[:-1] ** 2).sum(), np.sqrt((rest**2).sum() / (n - 2))
        alike = (rest[1:] * rest[:-1]).sum() / past
        error = np.sqrt(((rest[1:] - alike * rest[:-1]) ** 2).sum() / (n - 3) / past)
        comes_back = (alike - 1) / error < -4.5 - 10 / n
        kept = np.clip(alike + (2 + 4 * alike) / n + error / 2, 0, 0.97) if comes_back else 0.97
        worth = [max(len(each) * (1 - kept) / (1 + kept), 1.0) for each in days]
        parts = [each.var() / size for each, size in zip(days, worth, strict=True)]
        freedom = sum(parts) ** 2 / sum(part**2 / max(size - 1, 0.5) for part, size in zip(parts, worth, strict=True))
        gap, wide = (days[1].mean() - days[0].mean()) / spread, np.sqrt(sum(parts)) / spread
        reach = min(special.stdtrit(freedom, 0.975), 50) * wide
        p = min(2 * special.stdtr(freedom, -abs(gap) / wide) * times, 1.0)
        says = f"Welch's t test, n = {n:,} days, p = {p:.2g}, comparisons counted: {times:,}; effect {gap:.2f} "
        says += f"standard deviations of a day, 95 % interval {gap - reach:.2f} to {gap + reach:.2f}."
        return {"p": p, "effect": gap, "says": says}

    return (change_test,)


@app.cell(hide_code=True)
def define_escaped():
    def escaped(text: str, longest: int = 400) -> str:
        """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
        plain = " ".join(text.split())
        plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
        return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)

    return (escaped,)


@app.cell
def check_orders_rows(orders, orders_as_read, orders_with_customers):
    def test_orders_is_read_as_it_was_found():
        assert len(orders_as_read) >= 5226
        assert len(orders_with_customers) == len(orders)

    return


@app.cell
def check_the_change(before, change, now, np, segments):
    def test_the_change_adds_up():
        assert np.isclose(change, now["amount"].sum() - before["amount"].sum(), equal_nan=True)
        assert np.allclose(segments.groupby("columns")["change"].sum(), change)

    return


if __name__ == "__main__":
    app.run()
