# Runs beside a notebook's own code, in Jupyter's kernel and in ours: what each shows and holds, told the same way.
# All its names begin alike: they stand among the notebook's own.
import base64 as cellwright_base64
import hashlib as cellwright_hashlib
import inspect as cellwright_inspect
import json as cellwright_json
import sys as cellwright_sys
from typing import Any as cellwright_any

cellwright_seen = {}
CELLWRIGHT_MOST_ITEMS = 20000


def cellwright_hash(text: str) -> str:
    """Short, and the same everywhere."""
    return cellwright_hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def cellwright_table(value: cellwright_any) -> str | None:
    """A table or an array as text; None for anything else."""
    module, name = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "pandas" and name in ("DataFrame", "Series", "Index", "RangeIndex", "DatetimeIndex", "MultiIndex"):
        frame = value if hasattr(value, "to_csv") else value.to_frame()
        types = [str(kind) for kind in frame.dtypes] if hasattr(frame, "columns") else [str(frame.dtype)]
        head = [name, str(frame.shape), str(types)]
        return "|".join(head) + frame.head(CELLWRIGHT_MOST_ITEMS).to_csv() + frame.tail(100).to_csv()
    if module == "polars" and name in ("DataFrame", "Series"):
        return "|".join(
            [
                name,
                str(value.shape),
                str(
                    value.head(CELLWRIGHT_MOST_ITEMS).to_dict(as_series=False)
                    if name == "DataFrame"
                    else value.to_list()[:CELLWRIGHT_MOST_ITEMS]
                ),
            ]
        )
    if module == "numpy" and hasattr(value, "tobytes"):
        if value.dtype.hasobject:
            return "|".join([name, str(value.dtype), str(value.shape), str(value.tolist())])
        return "|".join(
            [name, str(value.dtype), str(value.shape), cellwright_hashlib.sha256(value.tobytes()).hexdigest()]
        )
    return None


def cellwright_image_text(value: cellwright_any) -> str:
    """The element of an image that marimo shows."""
    text = value.text if type(value).__name__ == "Html" and hasattr(value, "text") else ""
    return text if text.lstrip().startswith("<img") else ""


def cellwright_is_picture(value: cellwright_any) -> bool:
    """Whether a viewer draws it."""
    module, name = type(value).__module__.partition(".")[0], type(value).__name__
    if isinstance(value, (list, tuple)) and value and type(value[0]).__module__.startswith("matplotlib."):
        return True
    if (module == "IPython" and name in ("Image", "SVG")) or cellwright_image_text(value):
        return True
    return module in ("matplotlib", "seaborn", "altair", "plotly", "bokeh", "PIL", "plotnine") and (
        module != "matplotlib" or name in ("Figure", "Axes", "AxesSubplot") or hasattr(value, "figure")
    )


def cellwright_drawing(value: cellwright_any) -> str:
    """A hash of what a viewer draws, where the same drawing is always the same bytes; else nothing."""
    import io

    value = value[0] if isinstance(value, (list, tuple)) else value
    module = type(value).__module__.partition(".")[0]
    try:
        if module == "IPython" and isinstance(value.data, bytes):
            return cellwright_hash(cellwright_hashlib.sha256(value.data).hexdigest())
        if element := cellwright_image_text(value):
            _, is_inline, rest = element.partition(";base64,")
            content = cellwright_base64.b64decode(rest.partition("'")[0].partition('"')[0]) if is_inline else b""
            return cellwright_hash(cellwright_hashlib.sha256(content).hexdigest()) if content else ""
        if module in ("altair", "plotly"):
            spec = value.to_dict() if module == "altair" else cellwright_json.loads(value.to_json())
            return cellwright_hash(cellwright_json.dumps(spec, sort_keys=True, default=str))
        if module == "PIL":
            return cellwright_hash(f"{value.mode}{value.size}{cellwright_hashlib.sha256(value.tobytes()).hexdigest()}")
        figure: cellwright_any = getattr(value, "figure", None)
        if module in ("matplotlib", "seaborn") and hasattr(figure, "savefig"):
            pixels = io.BytesIO()
            # Without what viewers choose: their resolution and the colour behind it.
            figure.savefig(pixels, format="rgba", dpi=50, facecolor="white")
            return cellwright_hash(
                f"{figure.get_size_inches().tolist()}{cellwright_hashlib.sha256(pixels.getvalue()).hexdigest()}"
            )
    except Exception:  # noqa: BLE001
        return ""
    return ""


def cellwright_members(value: cellwright_any) -> dict[str, cellwright_any] | None:
    """What makes an object of a library what it is; None where that is not known."""
    module = type(value).__module__
    known = ("sklearn", "scipy", "statsmodels", "__main__", "__marimo__")
    return dict(vars(value)) if module.startswith(known) and hasattr(value, "__dict__") else None


def cellwright_digest(value: cellwright_any, depth: int = 0, above: tuple[int, ...] = ()) -> list[str]:
    """Its kind, and a hash of what it holds."""
    if value is None or (
        isinstance(value, (bool, int, float, complex, str, bytes)) and type(value).__module__ == "builtins"
    ):
        return [type(value).__name__, cellwright_hash(repr(value))]
    if cellwright_is_picture(value):
        return ["picture", cellwright_drawing(value)]
    kind = "list" if type(value).__qualname__ == "SList" else type(value).__qualname__
    if isinstance(value, (type(cellwright_sys), type)) or (callable(value) and hasattr(value, "__name__")):
        return ["code", getattr(value, "__name__", "")]
    if kind in ("HTML", "Html") and (hasattr(value, "data") or hasattr(value, "text")):
        text = value.data if hasattr(value, "data") else value.text
        return ["html", cellwright_hash(str(text).strip())]
    if kind in ("Markdown", "Latex", "_md", "md"):
        text = value._markdown_text if hasattr(value, "_markdown_text") else getattr(value, "data", "")
        return ["markdown", cellwright_hash(cellwright_inspect.cleandoc(str(text)).strip())]
    if depth > 8 or id(value) in above:
        return ["opaque", ""]
    above = (*above, id(value))
    try:
        table = cellwright_table(value)
        if table is not None:
            return [kind, cellwright_hash(table)]
        if isinstance(value, dict):
            parts = [
                [cellwright_digest(key, depth + 1, above), cellwright_digest(item, depth + 1, above)]
                for key, item in list(value.items())[:CELLWRIGHT_MOST_ITEMS]
            ]
        elif isinstance(value, (list, tuple)):
            parts = [cellwright_digest(item, depth + 1, above) for item in value[:CELLWRIGHT_MOST_ITEMS]]
        elif isinstance(value, (set, frozenset)):
            parts = sorted(cellwright_digest(item, depth + 1, above) for item in list(value)[:CELLWRIGHT_MOST_ITEMS])
        elif (members := cellwright_members(value)) is not None:
            parts = [cellwright_digest(members, depth + 1, above)]
        elif type(value).__module__ in (
            "datetime",
            "decimal",
            "fractions",
            "pathlib",
            "uuid",
            "pandas._libs.tslibs.timestamps",
        ) or (type(value).__module__ == "builtins" and kind == "range"):
            parts = [repr(value)]
        else:
            return ["opaque", ""]
        told = cellwright_json.dumps([len(value) if hasattr(value, "__len__") else 0, parts])
    except Exception as error:  # noqa: BLE001
        return ["opaque", type(error).__name__]
    if '"opaque"' in told:
        return ["opaque", ""]
    return [kind, cellwright_hash(told)]


def cellwright_shown(cell: int, value: cellwright_any) -> cellwright_any:
    """The value, noted as shown by this cell."""
    if value is not None:
        cellwright_seen.setdefault(cell, []).append(cellwright_digest(value))
    return value


def cellwright_tell(names: list[str]) -> str:
    """What was shown, and these variables, as JSON."""
    scope = globals()
    told = {name: cellwright_digest(scope[name]) for name in names if name in scope}
    return cellwright_json.dumps(
        {"shown": {str(cell): seen[:200] for cell, seen in cellwright_seen.items()}, "values": told}
    )
