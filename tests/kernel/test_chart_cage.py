"""Charts are drawn by a program in a cage that has their specifications only: it reads nothing and fetches nothing."""

from __future__ import annotations

import base64
import json
import re
import socket
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.chart_cage import ChartCage
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Tier

ROWS = [{"month": "Jan", "sales": 3}, {"month": "Feb", "sales": 5.5}, {"month": "Mar", "sales": -1}]
MONTH = {"field": "month", "type": "nominal"}
SALES = {"field": "sales", "type": "quantitative"}
CSV = "data:text/csv;base64," + base64.b64encode(b"month,sales\nJan,3\nFeb,5\n").decode()
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [0, 9], [9, 9], [9, 0], [0, 0]]]}


def spec(mark: Any = "bar", **more: Any) -> dict[str, Any]:
    return {"mark": mark, "data": {"values": ROWS}, "encoding": {"x": MONTH, "y": SALES}, **more}


KINDS: dict[str, dict[str, Any]] = {
    "bar": spec(title="Sales <b> & more"),
    **{mark: spec(mark) for mark in ("line", "area", "point", "circle", "tick", "rule", "trail", "square")},
    "heat map": spec("rect", encoding={"x": MONTH, "y": MONTH, "color": SALES}),
    "pie": {**spec("arc"), "encoding": {"theta": SALES, "color": MONTH}},
    "box plot": spec("boxplot"),
    "error bars": spec("errorbar"),
    "words": spec("text", encoding={"x": MONTH, "y": SALES, "text": MONTH}),
    "sizes": spec("point", encoding={"x": MONTH, "y": SALES, "size": SALES, "shape": MONTH}),
    "facets": spec(encoding={"x": MONTH, "y": SALES, "column": MONTH}),
    "side by side": {"data": {"values": ROWS}, "hconcat": [{"mark": "bar", "encoding": {"x": MONTH}}] * 2},
    "repeated": {
        "data": {"values": ROWS},
        "repeat": ["month", "sales"],
        "spec": {"mark": "bar", "encoding": {"x": {"field": {"repeat": "repeat"}}, "y": SALES}},
    },
    "layers": {
        "data": {"values": ROWS},
        "encoding": {"x": MONTH, "y": SALES},
        "layer": [{"mark": "bar"}, {"mark": "rule", "encoding": {"y": {"aggregate": "mean", "field": "sales"}}}],
    },
    "transforms": spec(transform=[{"filter": "datum.sales > 0"}, {"calculate": "datum.sales * 2", "as": "sales"}]),
    "bins": spec(encoding={"x": {**SALES, "bin": True}, "y": {"aggregate": "count"}}),
    "logarithms": spec("point", encoding={"x": {**SALES, "scale": {"type": "symlog"}}, "y": SALES}),
    "map": {"mark": "geoshape", "data": {"values": [{"type": "Feature", "geometry": SQUARE}]}},
    "data in its address": spec(data={"url": CSV, "format": {"type": "csv"}}),
    "vega": {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "width": 50,
        "height": 50,
        "marks": [{"type": "rect", "encode": {"enter": {"width": {"value": 20}, "height": {"value": 20}}}}],
    },
}


async def a_cage(pool: KernelPool, tier: Tier | None = None, chart_seconds: float = 20.0) -> ChartCage:
    return ChartCage(zygote=await pool.zygote(), tier=tier or probe().tier, chart_seconds=chart_seconds)


async def drawn(cage: ChartCage, *specs: dict[str, Any]) -> tuple[str | None, ...]:
    return await cage.draw([json.dumps(one) for one in specs])


@pytest.mark.slow
async def test_charts_of_every_kind_are_drawn_and_the_same_one_as_the_same_picture(pool: KernelPool) -> None:
    cage = await a_cage(pool)
    pictures = dict(zip(KINDS, await drawn(cage, *KINDS.values()), strict=True))
    assert [kind for kind, picture in pictures.items() if picture is None] == []
    for picture in pictures.values():
        assert picture is not None
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "Sales &lt;b&gt; &amp; more" in (pictures["bar"] or "")
    # Without a control group V8 needs more addresses than a cage usually has.
    without_groups: Tier = "B" if cage.tier == "A" else cage.tier
    assert await drawn(await a_cage(pool, without_groups), KINDS["bar"]) == (pictures["bar"],)


POINTS = spec("point", encoding={"x": SALES, "y": SALES})
BROKEN = {
    "no end": json.dumps(spec(transform=[{"filter": f"test(/^(a+)+$/, '{'a' * 60}b')"}])),
    "deep": '{"layer": [' * 5_000 + "{}" + "]}" * 5_000,
    "deep data": f'{{"mark": "bar", "data": {{"values": {"[" * 50_000}{"]" * 50_000}}}}}',
    "no JSON": '{"mark": ',
    "no chart": "{}",
    "a list": "[]",
}
HUGE = {
    "rows": json.dumps({**POINTS, "data": {"sequence": {"start": 0, "stop": 1e9, "as": "sales"}}}),
    "picture": json.dumps({**POINTS, "width": 1e9, "height": 1e9}),
    "answer": json.dumps({**POINTS, "data": {"values": [{"sales": sales} for sales in range(20_000)]}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [BROKEN, pytest.param(HUGE, marks=pytest.mark.slow)])
async def test_what_cannot_be_drawn_costs_itself_only(pool: KernelPool, hostile: dict[str, str]) -> None:
    cage = await a_cage(pool, chart_seconds=3.0 if hostile is BROKEN else 30.0)
    pictures = await cage.draw([*hostile.values(), json.dumps(spec())])
    assert dict(zip(hostile, pictures, strict=False)) == dict.fromkeys(hostile)
    assert pictures[-1] is not None


@pytest.mark.parametrize("tier", [None, pytest.param("D", marks=pytest.mark.slow)])
async def test_nothing_is_fetched_and_no_file_is_read(pool: KernelPool, tmp_path: Path, tier: Tier | None) -> None:
    """At tier D, which has no walls, the program's own rule alone holds."""
    secret = tmp_path / "secret.csv"
    secret.write_text("month,sales\nhunter2,3\n")
    encoding = {"x": MONTH, "y": SALES}
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        web = f"http://127.0.0.1:{server.getsockname()[1]}"
        asking = [
            *(
                spec(data={"url": url, "format": {"type": "csv"}})
                for url in (f"{web}/x.csv", secret.as_uri(), str(secret), "../secret.csv", "x.csv")
            ),
            spec("image", encoding={**encoding, "url": {"value": f"{web}/x.png"}}),
            spec("image", encoding={**encoding, "url": {"value": secret.as_uri()}}),
            spec(encoding={**encoding, "href": {"value": f"{web}/x"}}),
            spec(config={"font": f"url({web}/x.woff)"}, title={"text": "x", "font": f"url({web}/y.woff)"}),
            spec(usermeta={"embedOptions": {"loader": {"baseURL": web}, "config": f"{web}/config.json"}}),
            spec(
                transform=[{"lookup": "month", "from": {"data": {"url": f"{web}/l.csv"}, "key": "m", "fields": ["n"]}}]
            ),
        ]
        pictures = await drawn(await a_cage(pool, tier), *asking)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert len(pictures) == len(asking)
    assert not any("hunter2" in (picture or "") for picture in pictures)


INJECTED = '"/><script>alert(1)</script><a onload="x" href="javascript:x">'


@pytest.mark.slow
async def test_words_of_a_specification_stay_words(pool: KernelPool) -> None:
    rows = [{"month": INJECTED, "sales": 1}]
    pictures = await drawn(
        await a_cage(pool),
        spec(title=INJECTED, description=INJECTED),
        spec({"type": "bar", "color": INJECTED, "stroke": INJECTED, "tooltip": INJECTED}),
        spec(data={"values": rows}, encoding={"x": {**MONTH, "title": INJECTED}, "y": SALES, "color": MONTH}),
        spec(config={"font": INJECTED, "background": INJECTED}, name=INJECTED),
    )
    for picture in pictures:
        for element in ElementTree.fromstring(picture or "<svg/>").iter():
            tag = element.tag.rpartition("}")[2]
            assert tag in {"svg", "g", "path", "rect", "line", "text", "defs", "clipPath", "title", "tspan"}
            assert not [name for name in element.attrib if re.match("on|.*href", name)]
