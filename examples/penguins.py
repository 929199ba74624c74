import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Penguins")


@app.cell
def _():
    import marimo as mo
    import matplotlib.pyplot as plt
    import pandas as pd

    return mo, pd, plt


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # Which penguins are heavy for their flippers?

    240 invented penguins of three species. We load them, drop the ones nobody could weigh, compare the species,
    and look at how mass grows with flipper length.
    """)
    return


@app.cell
def load(mo, pd):
    raw = pd.read_csv(mo.notebook_dir() / "data" / "penguins.csv")
    raw.head()
    return (raw,)


@app.cell
def clean(raw):
    measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    penguins = raw.dropna(subset=measured).assign(
        sex=lambda birds: birds["sex"].fillna("unknown"),
        mass_kg=lambda birds: birds["body_mass_g"] / 1000,
    )
    print(f"kept {len(penguins)} of {len(raw)} penguins")
    return (penguins,)


@app.cell
def by_species(penguins):
    summary = (
        penguins.groupby("species")
        .agg(birds=("species", "size"), mass_kg=("mass_kg", "mean"), flipper_mm=("flipper_length_mm", "mean"))
        .round(2)
    )
    summary
    return (summary,)


@app.cell
def threshold(mo):
    heavy_kg = mo.ui.slider(3.0, 6.0, step=0.25, value=4.5, label="heavy from (kg)")
    heavy_kg
    return (heavy_kg,)


@app.cell
def heavy_by_island(heavy_kg, mo, penguins):
    heavy = mo.sql(
        f"""
        SELECT island, species, count(*) AS heavy, round(avg(mass_kg), 2) AS mean_kg
        FROM penguins
        WHERE mass_kg >= {heavy_kg.value}
        GROUP BY ALL
        ORDER BY heavy DESC, island
        """
    )
    return (heavy,)


@app.cell
def mass_against_flipper(heavy_kg, penguins, plt):
    figure, axes = plt.subplots(figsize=(6, 4))
    for species, birds in penguins.groupby("species"):
        axes.scatter(birds["flipper_length_mm"], birds["mass_kg"], s=14, alpha=0.7, label=species)
    axes.axhline(heavy_kg.value, linewidth=1, linestyle="--", color="grey")
    axes.set(xlabel="flipper length (mm)", ylabel="body mass (kg)")
    axes.legend(frameon=False)
    figure
    return


@app.cell(hide_code=True)
def conclusion(heavy, heavy_kg, mo, summary):
    heaviest = summary["mass_kg"].idxmax()
    mo.md(f"""
    **{heaviest}** is the heaviest species, {summary.loc[heaviest, "mass_kg"]:.2f} kg on average.
    From {heavy_kg.value} kg up there are **{int(heavy["heavy"].sum())}** penguins.
    """)
    return


if __name__ == "__main__":
    app.run()
