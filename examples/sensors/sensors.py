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
    # How did the temperature change over time?

    The answer first, then what it rests on.
    """)
    return


@app.cell(hide_code=True)
def report_headline(escaped, mo, told):
    mo.md(f"# {escaped(told['headline'])}\n\n{escaped(' '.join(filter(None, told['trust'])), 900)}")
    return


@app.cell(hide_code=True)
def report_picture(alt, course, first, np, pd, result, second):
    _course = result.rename_axis("time").reset_index(name="value").dropna()
    _halves = pd.DataFrame({"time": course.index, "half": np.where(np.arange(len(course)) < len(course) // 2, first, second)})
    _halves["part"] = _halves["half"].eq(second).map({True: "second", False: "first"})
    _top = max(float(_course["value"].quantile(0.95)) * 1.5, 1e-9) if len(_course) else 1.0
    _scale = alt.Scale(domainMax=min(_top, float(_course["value"].max()) if len(_course) else 1.0), zero=False)
    _line = alt.Chart(_course, title="mean of temperature per day, with the mean of each half").mark_line(color="#0072B2", clip=True, point=len(_course) < 60).encode(
        x=alt.X("time:T", title=None),
        y=alt.Y("value:Q", title="mean of temperature", scale=_scale),
        tooltip=[alt.Tooltip("time:T", title="day from"), alt.Tooltip("value:Q", format=",.4~r")],
    )
    _means = alt.Chart(_halves).mark_line(color="#D55E00", strokeWidth=2.5).encode(x="time:T", y="half:Q", detail="part:N")
    (_line + _means).properties(width="container", height=220)
    return


@app.cell(hide_code=True)
def report_finding_1(alt, course, ends, escaped, mo, pd):
    _bars = pd.concat([course.nlargest(3), course.nsmallest(3)]).rename_axis("time").reset_index(name="value")
    _bars["label"] = _bars["time"].dt.strftime("%Y-%m-%d")
    _chart = alt.Chart(_bars.drop_duplicates("label"), title="The highest and the lowest").mark_bar(color="#0072B2").encode(
        y=alt.Y("label:N", sort=None, title=None), x=alt.X("value:Q", title="mean of temperature"),
    ).properties(width="container", height=alt.Step(16))
    mo.vstack([mo.md(escaped(ends["says"], 600)), _chart, mo.accordion({"How sure is that?": mo.md(escaped(ends["statistics"], 900))})])
    return


@app.cell(hide_code=True)
def report_finding_2(alt, cycle, escaped, mo, season):
    _bars = cycle.rename_axis("label").reset_index(name="value")
    _chart = alt.Chart(_bars, title="Against the mean of all, by weekday").mark_bar(color="#0072B2").encode(
        y=alt.Y("label:N", sort=None, title=None), x=alt.X("value:Q", title=None, axis=alt.Axis(format="+%")),
    ).properties(width="container", height=alt.Step(13))
    mo.vstack([mo.md(escaped(season["says"], 600)), _chart])
    return


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    climate_csv = data_folder / "climate.csv"
    return (climate_csv,)


@app.cell
def libraries():
    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import special

    return alt, np, pd, special


@app.cell
def read_climate(climate_csv, pd):
    climate_as_read = pd.read_csv(
        climate_csv, sep=",", encoding="utf-8", encoding_errors="replace", index_col=False,
        dtype="str", keep_default_na=False, na_values=[""],
    )
    return (climate_as_read,)


@app.cell
def climate(climate_as_read, pd):
    _rows = climate_as_read
    climate = pd.DataFrame(
        {
            "time": pd.to_datetime(_rows["time"].str.strip(), format="%Y-%m-%d %H:%M", errors="coerce"),
            "temperature_c": pd.to_numeric(_rows["temperature_c"].str.strip(), errors="coerce").mask(lambda _value: _value.isin([-999])),
        }
    )
    return (climate,)


@app.cell
def selected(climate):
    in_time = climate
    selected = in_time
    return (selected,)


@app.cell
def result(selected):
    result = selected.dropna(subset="time").set_index("time")["temperature_c"].resample("D").mean()
    # The first and the last day may be there in part only: they are left out of what is said.
    _days = selected["time"].dropna()
    _is_whole = len(result) > 3 and (_days.max() - result.index[-1]).total_seconds() < 0.8 * (result.index[-1] - result.index[-2]).total_seconds()
    course = (result.iloc[:-1] if _is_whole else result).dropna()
    return course, result


@app.cell
def headline(change_test, course, np, short):
    _half = len(course) // 2
    first, second = course.iloc[:_half].mean(), course.iloc[_half:].mean()
    # Where one step fits the course best: is that, or the second half against the first, more than chance?
    _sums, _places = (course - course.mean()).cumsum().iloc[:-1].to_numpy(), np.arange(1, len(course))
    _at = int(np.argmax(_sums**2 / (_places * (len(course) - _places)))) + 1 if len(course) > 5 else 0
    step_at = course.index[_at] if _at else None
    _parts = [course.iloc[:_at].mean(), course.iloc[_at:].mean()]
    _halves = change_test(course.iloc[:_half], course.iloc[_half:], times=2)
    _step = change_test(course.iloc[:_at], course.iloc[_at:], times=2 * len(course))
    _test = min([_halves, _step], key=lambda _each: _each["p"])
    is_certain = _test["p"] <= 0.05 and abs(_test["effect"]) >= 0.2
    _moved = "rose" if second > first else "fell"
    headline = f"Average temperature {_moved if is_certain else 'shows no certain trend'}: from {short(first)} per day in the first half of the time to {short(second)} in the second"
    headline += f" ({second / first - 1:+.1%})" if first else ""
    if is_certain and _test is _step:
        _moved = "rose" if _parts[1] > _parts[0] else "fell"
        headline = f"Average temperature {_moved} in one step at {step_at.strftime('%Y-%m-%d')}: {short(_parts[0])} per day before, {short(_parts[1])} from then on"
    sure = "That is more than chance would do." if is_certain else "Changes of this size come by chance: nothing certain."
    statistics = _test["says"].replace("days", "days").replace("a day", "a day")
    return first, headline, second, statistics, step_at, sure


@app.cell
def season(course):
    # What is usual for each weekday, against the mean of all.
    _steps = course.resample("D").mean().dropna()
    cycle = (_steps.groupby(_steps.index.day_name()).mean() / _steps.mean() - 1).dropna().sort_values(ascending=False)
    season = {
        "says": f"Usually highest on {cycle.index[0]} ({cycle.iloc[0]:+.0%}), lowest on {cycle.index[-1]} ({cycle.iloc[-1]:+.0%})."
        if len(cycle) > 1
        else "There is too little to see a season.",
        "bars": {str(_label): float(_value) for _label, _value in cycle.head(8).items()},
    }
    return cycle, season


@app.cell
def ends(course, headline, short, statistics, step_at):
    _name = "%Y-%m-%d"
    _high, _low = (course.idxmax(), course.idxmin()) if len(course) else (None, None)
    ends = {
        "says": f"Highest in {_high.strftime(_name)} ({short(course.max())}), lowest in {_low.strftime(_name)} ({short(course.min())})."
        + (f" One step fits it best at {step_at.strftime('%Y-%m-%d')}: {short(course[course.index < step_at].mean())} before, {short(course[course.index >= step_at].mean())} from then on." if step_at is not None and "in one step" not in headline else "")
        if len(course)
        else "There is nothing over time.",
        "statistics": statistics,
        "bars": {_when.strftime(_name): float(_value) for _when, _value in course.tail(8).items()},
    }
    return (ends,)


@app.cell
def told(ends, headline, season, sure):
    told = {
        "headline": headline,
        "findings": [ends, season],
        "trust": [
            sure,
        ],
        "readings": [
            "Temperature is the mean of temperature c, for each day.",
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
def check_climate_rows(climate_as_read):
    def test_climate_is_read_as_it_was_found():
        assert len(climate_as_read) >= 4176

    return


@app.cell
def check_the_course(result):
    def test_the_course_is_in_order():
        assert result.index.is_monotonic_increasing and result.index.is_unique

    return


if __name__ == "__main__":
    app.run()
