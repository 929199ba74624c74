# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "altair==6.3.0",
#     "marimo==0.25.2",
#     "numpy==2.4.6",
#     "pandas==3.1.1",
#     "sqlalchemy==2.1.8",
# ]
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell(hide_code=True)
def title(mo):
    mo.md(r"""
    # Compare what was paid by category

    The answer first, then what it rests on.
    """)
    return


@app.cell(hide_code=True)
def report_headline(escaped, mo, told):
    mo.md(f"# {escaped(told['headline'])}\n\n{escaped(' '.join(filter(None, told['trust'])), 900)}")
    return


@app.cell(hide_code=True)
def report_picture(alt, ranked, short):
    _bars = ranked.head(12).rename_axis("label").reset_index(name="value")
    _bars["text"] = [f"{short(_value)}" for _value in _bars["value"]]
    _bars["is_told"] = _bars.index < 1
    _room = alt.Scale(domainMax=float(_bars["value"].max()) * 1.2) if len(_bars) and _bars["value"].max() > 0 else alt.Scale()
    _chart = alt.Chart(_bars, title="paid by category").encode(
        y=alt.Y("label:N", sort=None, title="category", axis=alt.Axis(labelLimit=200)),
        x=alt.X("value:Q", title="paid", scale=_room),
        color=alt.condition("datum.is_told", alt.value("#0072B2"), alt.value("#A6CBE3")),
        tooltip=["label", alt.Tooltip("value:Q", format=",.4~r")],
    )
    _text = _chart.mark_text(align="left", dx=4).encode(text="text:N", color=alt.value("black"))
    (_chart.mark_bar() + _text).properties(width="container", height=alt.Step(24))
    return


@app.cell(hide_code=True)
def report_finding_1(alt, escaped, mo, result, spread):
    _shares = (result.cumsum() / result.sum()).reset_index(drop=True).rename("share").reset_index()
    _shares["index"] += 1
    _chart = alt.Chart(_shares, title="Share of all, the largest first").mark_line(color="#0072B2", point=len(_shares) < 40).encode(
        x=alt.X("index:Q", title="category", axis=alt.Axis(tickMinStep=1)), y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")),
    ).properties(width="container", height=100)
    mo.vstack([mo.md(escaped(spread["says"], 600)), _chart])
    return


@app.cell(hide_code=True)
def report_finding_2(alt, escaped, made, made_of, mo):
    _chart = alt.Chart(made_of, title="How many, and how large each").mark_circle(color="#0072B2", size=70).encode(
        x=alt.X("number:Q", title="number of kiosk_sales", scale=alt.Scale(zero=False)),
        y=alt.Y("size:Q", title="size of each", scale=alt.Scale(zero=False)),
        tooltip=[alt.Tooltip("label", title="category"), alt.Tooltip("number", format=","), alt.Tooltip("size", format=",.4~r")],
    ).properties(width="container", height=110)
    mo.vstack([mo.md(escaped(made["says"], 600)), _chart])
    return


@app.cell(hide_code=True)
def report_finding_3(alt, courses, escaped, mo, over_time):
    _colours = alt.Scale(range=["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"])
    _chart = alt.Chart(courses, title="paid per week, the first few").mark_line().encode(
        x=alt.X("time:T", title=None), y=alt.Y("value:Q", title=None), color=alt.Color("label:N", title=None, scale=_colours),
        tooltip=["label", "time:T", alt.Tooltip("value:Q", format=",.4~r")],
    ).properties(width="container", height=120)
    mo.vstack([mo.md(escaped(over_time["says"], 600)), _chart])
    return


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    kiosk_db = data_folder / "kiosk.db"
    return (kiosk_db,)


@app.cell
def libraries():
    import sqlite3
    from contextlib import closing

    import altair as alt
    import numpy as np
    import pandas as pd

    return alt, closing, np, pd, sqlite3


@app.cell
def read_kiosk_sales(closing, kiosk_db, pd, sqlite3):
    # Opened so that nothing can be written to it.
    _place = kiosk_db.resolve().as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(_place, uri=True)) as _connection:
        kiosk_sales_as_read = pd.read_sql_query("SELECT * FROM \"sales\"", _connection)
    return (kiosk_sales_as_read,)


@app.cell
def kiosk_sales(as_date, as_number, kiosk_sales_as_read, pd):
    _rows = kiosk_sales_as_read
    kiosk_sales = pd.DataFrame(
        {
            "sold_on": as_date(_rows["sold_on"], ["%Y-%m-%d"]),
            "product_id": as_number(_rows["product_id"]),
            "paid": as_number(_rows["paid"]),
        }
    )
    return (kiosk_sales,)


@app.cell
def read_kiosk_products(closing, kiosk_db, pd, sqlite3):
    # Opened so that nothing can be written to it.
    _place = kiosk_db.resolve().as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(_place, uri=True)) as _connection:
        kiosk_products_as_read = pd.read_sql_query("SELECT * FROM \"products\"", _connection)
    return (kiosk_products_as_read,)


@app.cell
def kiosk_products(as_number, kiosk_products_as_read, pd):
    _rows = kiosk_products_as_read
    kiosk_products = pd.DataFrame(
        {
            "product_id": as_number(_rows["product_id"]),
            "category": _rows["category"].astype(object).map(str, na_action="ignore"),
        }
    )
    return (kiosk_products,)


@app.cell
def kiosk_sales_with_kiosk_products(kiosk_products, kiosk_sales):
    _left = kiosk_sales.assign(joined_by=kiosk_sales["product_id"])
    _right = kiosk_products.assign(joined_by=kiosk_products["product_id"]).drop(columns="product_id")
    # One row per key on the right, so that no row on the left is counted twice.
    _right = _right.dropna(subset="joined_by").drop_duplicates("joined_by")
    kiosk_sales_with_kiosk_products = _left.merge(_right, how="left", on="joined_by", validate="many_to_one")
    kiosk_sales_with_kiosk_products = kiosk_sales_with_kiosk_products.drop(columns="joined_by")
    return (kiosk_sales_with_kiosk_products,)


@app.cell
def selected(kiosk_sales_with_kiosk_products):
    in_time = kiosk_sales_with_kiosk_products
    selected = in_time
    return (selected,)


@app.cell
def result(selected):
    result = selected.groupby("category")["paid"].sum().dropna().sort_values(ascending=False, kind="stable")
    result.index = result.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
    return (result,)


@app.cell
def headline(result, short):
    ranked = result
    _figures = [f"{_label} ({short(_value)})" for _label, _value in ranked.items()]
    _share = f" ({ranked.iloc[0] / ranked.sum():.0%} of all)" if len(ranked) and ranked.sum() else ""
    headline = f"{ranked.index[0]} has the most paid: {short(ranked.iloc[0])}{_share}" if len(ranked) else "Nothing is there to compare"
    headline += f", before {_figures[1]}" if len(ranked) > 1 else ""
    return headline, ranked


@app.cell
def made(pd, ranked, selected, short):
    # What the first is made of: how many kiosk_sales, and how large each is.
    _by = selected.groupby("category")["paid"]
    _made = pd.DataFrame({"number": _by.count(), "size": _by.mean()})
    _made.index = _made.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
    _one, _all = _made.loc[ranked.index[0]], _made.loc[ranked.index]
    made = {
        "says": f"{ranked.index[0]} has {_one['number']:,.0f} kiosk_sales ({_all['number'].rank(ascending=False).iloc[0]:.0f}. of {len(_all)}) "
        f"at {short(_one['size'])} each ({_all['size'].rank(ascending=False).iloc[0]:.0f}. of {len(_all)}).",
        "bars": {str(_label): float(_value) for _label, _value in _all["number"].head(5).items()},
    }
    made_of = _all.head(12).rename_axis("label").reset_index()
    return made, made_of


@app.cell
def over_time(pd, ranked, selected):
    # The first few over time.
    _rows = selected.assign(label=lambda _each: _each["category"].map(str))
    _rows = _rows[_rows["label"].isin(ranked.index[:4])]
    courses = _rows.groupby([pd.Grouper(key="sold_on", freq="W-MON"), "label"])["paid"].sum().rename("value").reset_index().rename(columns={"sold_on": "time"})
    _firsts = courses.loc[courses.groupby("time")["value"].idxmax(), "label"].value_counts()
    over_time = {
        "says": f"{_firsts.index[0]} was first in {_firsts.iloc[0]:,} of {_firsts.sum():,} weeks."
        if len(_firsts)
        else "There is too little over time to compare.",
    }
    return courses, over_time


@app.cell
def spread(result, short):
    _ends = f"{result.index[0]} {short(result.iloc[0])}, {result.index[-1]} {short(result.iloc[-1])}" if len(result) else ""
    spread = {
        "says": f"{len(result):,} groups of category from highest to lowest: {_ends}; half of all comes from "
        f"{int((result.cumsum() < result.sum() / 2).sum()) + 1 if len(result) else 0:,} of them.",
        "bars": {str(_label): float(_value) for _label, _value in result.head(5).items()},
    }
    return (spread,)


@app.cell
def told(headline, made, over_time, spread):
    told = {
        "headline": headline,
        "findings": [spread, made, over_time],
        "trust": [
            "11 % of product_id are not in kiosk_products.",
        ],
        "readings": [
            "Paid is the sum of paid.",
        ],
    }
    return (told,)


@app.cell(hide_code=True)
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


@app.cell(hide_code=True)
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
def define_escaped():
    def escaped(text: str, longest: int = 400) -> str:
        """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
        plain = " ".join(text.split())
        plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
        return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)

    return (escaped,)


@app.cell
def check_kiosk_sales_rows(
    kiosk_sales,
    kiosk_sales_as_read,
    kiosk_sales_with_kiosk_products,
):
    def test_kiosk_sales_is_read_as_it_was_found():
        assert len(kiosk_sales_as_read) >= 2140
        assert len(kiosk_sales_with_kiosk_products) == len(kiosk_sales)

    return


@app.cell
def check_the_groups(np, result, selected):
    def test_the_groups_are_those_of_the_rows():
        assert np.allclose(np.sort(result), np.sort(selected.groupby("category")["paid"].sum().dropna()))

    return


if __name__ == "__main__":
    app.run()
