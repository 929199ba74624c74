import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def imports():
    import marimo as mo

    return (mo,)


@app.cell
def data_files(mo):
    # Every data file is reached through this cell: when files move, only this cell changes.
    data_folder = mo.notebook_dir()
    climate_csv = data_folder / "climate.csv"
    return


if __name__ == "__main__":
    app.run()
