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
    # Compare minutes by kind of fault

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
    _chart = alt.Chart(_bars, title="mean of minutes by kind").encode(
        y=alt.Y("label:N", sort=None, title="kind", axis=alt.Axis(labelLimit=200)),
        x=alt.X("value:Q", title="mean of minutes", scale=_room),
        color=alt.condition("datum.is_told", alt.value("#0072B2"), alt.value("#A6CBE3")),
        tooltip=["label", alt.Tooltip("value:Q", format=",.4~r")],
    )
    _text = _chart.mark_text(align="left", dx=4).encode(text="text:N", color=alt.value("black"))
    (_chart.mark_bar() + _text).properties(width="container", height=alt.Step(24))
    return


@app.cell(hide_code=True)
def report_finding_1(alt, certain, escaped, middle, mo):
    _shown = middle.sort_values("median", ascending=False).head(12).rename_axis("label").reset_index()
    _base = alt.Chart(_shown, title="The middle half of the values, and the median").encode(
        y=alt.Y("label:N", sort=None, title="kind", axis=alt.Axis(labelLimit=180)),
        tooltip=["label", alt.Tooltip("median", format=",.4~r"), alt.Tooltip("count", format=",")],
    )
    _box = _base.mark_bar(size=10, opacity=0.4, color="#0072B2").encode(x=alt.X("low:Q", title="minutes"), x2="high:Q")
    _chart = (_box + _base.mark_point(filled=True, color="#D55E00").encode(x="median:Q")).properties(width="container", height=alt.Step(18))
    mo.vstack([mo.md(escaped(certain["says"], 600)), _chart, mo.accordion({"How sure is that?": mo.md(escaped(certain["statistics"], 900))})])
    return


@app.cell(hide_code=True)
def report_finding_2(alt, courses, escaped, mo, over_time):
    _colours = alt.Scale(range=["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"])
    _chart = alt.Chart(courses, title="mean of minutes per week, the first few").mark_line().encode(
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
    output_xlsx = data_folder / "output.xlsx"
    faults_jsonl = data_folder / "faults.jsonl"
    return (faults_jsonl,)


@app.cell
def libraries():
    import json

    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import stats

    return alt, json, np, pd, stats


@app.cell
def read_faults(faults_jsonl, json, pd):
    _records, _broken = [], 0
    for _file in [faults_jsonl]:
        with _file.open(encoding="utf-8-sig", errors="replace") as _lines:
            for _line in _lines:
                try:
                    _record = json.loads(_line.strip().rstrip(",") or "null")
                except ValueError:
                    _broken += 1
                    continue
                if _record is not None:
                    _records.append(_record)
    faults_as_read = pd.json_normalize(_records, max_level=1)
    return (faults_as_read,)


@app.cell
def faults(as_date, as_number, faults_as_read, pd):
    _rows = faults_as_read
    faults = pd.DataFrame(
        {
            "date": as_date(_rows["date"], ["%Y-%m-%d"]),
            "kind": _rows["kind"].astype(object).map(str, na_action="ignore"),
            "minutes": as_number(_rows["minutes"]),
        }
    )
    return (faults,)


@app.cell
def selected(faults):
    in_time = faults
    selected = in_time
    return (selected,)


@app.cell
def result(selected):
    result = selected.groupby("kind")["minutes"].mean().dropna().sort_values(ascending=False, kind="stable")
    result.index = result.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
    return (result,)


@app.cell
def headline(result, short):
    ranked = result
    _figures = [f"{_label} ({short(_value)})" for _label, _value in ranked.items()]
    headline = f"{ranked.index[0]} has the highest average minutes: {short(ranked.iloc[0])}" if len(ranked) else "Nothing is there to compare"
    headline += f"; {ranked.index[-1]} the lowest: {short(ranked.iloc[-1])}" if len(ranked) > 1 else ""
    return headline, ranked


@app.cell
def certain(result, selected, stats):
    # More than chance? Ranks compared (Mann-Whitney or Kruskal-Wallis).
    _rows = selected.assign(group=selected["kind"], value=selected["minutes"])[["group", "value"]].dropna()
    _groups = [_values for _, _values in _rows.groupby("group")["value"] if len(_values) >= 5]
    _n = sum(map(len, _groups))
    if len(_groups) >= 2 and _rows["value"].nunique() > 1:
        _found = stats.mannwhitneyu(*_groups) if len(_groups) == 2 else stats.kruskal(*_groups)
        _effect = 2 * _found.statistic / (len(_groups[0]) * len(_groups[1])) - 1 if len(_groups) == 2 else _found.statistic / (_n - 1)
        _is_so = _found.pvalue <= 0.05 and abs(_effect) >= (0.2 if len(_groups) == 2 else 0.02)
        sure = "The groups differ by more than chance would do." if _is_so else "The groups differ by no more than chance may do: nothing certain."
        _name = "Mann-Whitney, rank-biserial correlation" if len(_groups) == 2 else "Kruskal-Wallis, epsilon squared"
        statistics = f"{_name} {_effect:.2f}, n = {_n:,}, p = {_found.pvalue:.2g}; comparisons counted: 1."
    else:
        sure, statistics = "Too few values for a test: nothing certain.", "Not tested."
    middle = _rows.groupby("group")["value"].describe()[["25%", "50%", "75%", "count"]].set_axis(["low", "median", "high", "count"], axis=1)
    certain = {
        "says": sure,
        "statistics": statistics,
        "bars": {str(_label): float(_value) for _label, _value in result.head(5).items()},
    }
    return certain, middle


@app.cell
def over_time(pd, ranked, selected):
    # The first few over time.
    _rows = selected.assign(label=lambda _each: _each["kind"].map(str))
    _rows = _rows[_rows["label"].isin(ranked.index[:4])]
    courses = _rows.groupby([pd.Grouper(key="date", freq="W-MON"), "label"])["minutes"].mean().rename("value").reset_index().rename(columns={"date": "time"})
    _firsts = courses.loc[courses.groupby("time")["value"].idxmax(), "label"].value_counts()
    over_time = {
        "says": f"{_firsts.index[0]} was first in {_firsts.iloc[0]:,} of {_firsts.sum():,} weeks."
        if len(_firsts)
        else "There is too little over time to compare.",
    }
    return courses, over_time


@app.cell
def told(certain, headline, over_time):
    told = {
        "headline": headline,
        "findings": [certain, over_time],
        "trust": [
        ],
        "readings": [
            "Minutes is the mean of minutes.",
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
def check_faults_rows(faults_as_read):
    def test_faults_is_read_as_it_was_found():
        assert len(faults_as_read) >= 160

    return


@app.cell
def check_the_groups(np, result, selected):
    def test_the_groups_are_those_of_the_rows():
        assert np.allclose(np.sort(result), np.sort(selected.groupby("kind")["minutes"].mean().dropna()))

    return


if __name__ == "__main__":
    app.run()
