import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def imports():
    import marimo as mo

    return


if __name__ == "__main__":
    app.run()
