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
    # Compare recommend\_0\_to\_10 by team

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
    _chart = alt.Chart(_bars, title="mean of recommend 0 to 10 by team").encode(
        y=alt.Y("label:N", sort=None, title="team", axis=alt.Axis(labelLimit=200)),
        x=alt.X("value:Q", title="mean of recommend 0 to 10", scale=_room),
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
        y=alt.Y("label:N", sort=None, title="team", axis=alt.Axis(labelLimit=180)),
        tooltip=["label", alt.Tooltip("median", format=",.4~r"), alt.Tooltip("count", format=",")],
    )
    _box = _base.mark_bar(size=10, opacity=0.4, color="#0072B2").encode(x=alt.X("low:Q", title="recommend 0 to 10"), x2="high:Q")
    _chart = (_box + _base.mark_point(filled=True, color="#D55E00").encode(x="median:Q")).properties(width="container", height=alt.Step(18))
    mo.vstack([mo.md(escaped(certain["says"], 600)), _chart, mo.accordion({"How sure is that?": mo.md(escaped(certain["statistics"], 900))})])
    return


@app.cell(hide_code=True)
def choices(mo, repairs):
    mo.sidebar(mo.vstack([mo.md("### What if"), repairs.vstack()], gap=1.5), width="20rem")
    return


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    answers_csv = data_folder / "answers.csv"
    return (answers_csv,)


@app.cell
def libraries():
    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import stats

    return alt, np, pd, stats


@app.cell
def repairs(mo):
    # Off until you decide: each changes the answer above.
    repairs = mo.ui.dictionary(
        {
            "similar labels": mo.ui.switch(label="**similar labels** are written as the commonest of them (Engineering, Engineering, engineering, Support and 4 more) in team: 15 values"),
        }
    )
    return (repairs,)


@app.cell
def read_answers(answers_csv, pd):
    answers_as_read = pd.read_csv(
        answers_csv, sep='\t', encoding="utf-8-sig", encoding_errors="replace", index_col=False,
        dtype="str", keep_default_na=False, na_values=[""],
    )
    return (answers_as_read,)


@app.cell
def answers(answers_as_read, pd, repairs):
    _rows = answers_as_read
    answers = pd.DataFrame(
        {
            "team": _rows["team"].str.strip(),
            "recommend_0_to_10": pd.to_numeric(_rows["recommend_0_to_10"].str.strip(), errors="coerce"),
        }
    )
    if repairs.value["similar labels"]:
        answers["team"] = answers["team"].replace({"Engineering ": "Engineering", "engineering": "Engineering", "support": "Support", "Sales ": "Sales", "sales": "Sales"})
    return (answers,)


@app.cell
def selected(answers):
    in_time = answers
    selected = in_time
    return (selected,)


@app.cell
def result(selected):
    result = selected.groupby("team")["recommend_0_to_10"].mean().dropna().sort_values(ascending=False, kind="stable")
    result.index = result.index.map(lambda _each: " × ".join(map(str, _each)) if isinstance(_each, tuple) else str(_each))
    return (result,)


@app.cell
def headline(result, short):
    ranked = result
    _figures = [f"{_label} ({short(_value)})" for _label, _value in ranked.items()]
    headline = f"{ranked.index[0]} has the highest average recommend 0 to 10: {short(ranked.iloc[0])}" if len(ranked) else "Nothing is there to compare"
    headline += f"; {ranked.index[-1]} the lowest: {short(ranked.iloc[-1])}" if len(ranked) > 1 else ""
    return headline, ranked


@app.cell
def certain(result, selected, stats):
    # More than chance? Ranks compared (Mann-Whitney or Kruskal-Wallis).
    _rows = selected.assign(group=selected["team"], value=selected["recommend_0_to_10"])[["group", "value"]].dropna()
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
def told(certain, headline, repairs):
    _left = [_what for _switch, _what in {"similar labels": "15 labels in other spellings"}.items() if not repairs.value[_switch]]
    told = {
        "headline": headline,
        "findings": [certain],
        "trust": [
            f"Yours to decide, left as they are: {', '.join(_left)}." if _left else "",
        ],
        "readings": [
            "Recommend 0 to 10 is the mean of recommend 0 to 10.",
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
def define_escaped():
    def escaped(text: str, longest: int = 400) -> str:
        """Text from a file that stays text in markdown: nothing becomes a link, a heading or HTML."""
        plain = " ".join(text.split())
        plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
        return "".join(sign if sign.isalnum() or sign in " ,.%()…" else f"&#{ord(sign)};" for sign in plain)

    return (escaped,)


@app.cell
def check_answers_rows(answers_as_read):
    def test_answers_is_read_as_it_was_found():
        assert len(answers_as_read) >= 320

    return


@app.cell
def check_the_groups(np, result, selected):
    def test_the_groups_are_those_of_the_rows():
        assert np.allclose(np.sort(result), np.sort(selected.groupby("team")["recommend_0_to_10"].mean().dropna()))

    return


if __name__ == "__main__":
    app.run()
