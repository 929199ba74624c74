import { useMemo, useState } from "react";
import uPlot from "uplot";

import type { Usage } from "../../api/types";
import { amounts, dollars } from "../../parts";
import type { Sheet, Value } from "./csv";
import { Panel } from "./panel";
import { type Palette, Plot, axis } from "./plot";
import css from "./dashboards.module.css";

const DAY_MS = 86_400_000;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

interface Spending {
  day: string;
  microdollars: number;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  unpriced_calls: number;
}

/** What each day cost, days without a call included. */
export function CostByDay({ usage, days }: { usage: Usage; days: number }) {
  const all = useMemo(() => everyDay(usage, days), [usage, days]);
  const data = useMemo<uPlot.AlignedData>(
    () => [all.map((_, at) => at), all.map((each) => (each.microdollars === 0 ? null : each.microdollars / 1e6))],
    [all],
  );
  const dearest = all.reduce((most, each) => (each.microdollars > most.microdollars ? each : most), all[0] ?? NOTHING);
  const [point, setPoint] = useState<number | null>(null);
  const shown = all[point ?? -1] ?? all[all.length - 1] ?? NOTHING;
  return (
    <Panel
      title="Cost per day"
      says={`The dearest day was ${dearest.day} with ${dollars(dearest.microdollars)}.`}
      sheet={usage.by_day.length === 0 ? { ...sheetOf(all), rows: [] } : sheetOf(all)}
      show={showCost}
      empty="No model was asked in this time"
      isWide
    >
      <p className={css.reading} aria-hidden="true">
        <b>{dollars(shown.microdollars)}</b> on {shown.day === "" ? "no day" : DAY.format(Date.parse(shown.day))}
        <span className={css.note}>{shown.calls.toLocaleString("en")} calls</span>
      </p>
      <Plot data={data} options={(palette) => options(palette, all)} shape={`${days} ${all[0]?.day}`} height={210} onPoint={setPoint} />
    </Panel>
  );
}

const NOTHING: Spending = { day: "", microdollars: 0, calls: 0, input_tokens: 0, output_tokens: 0, unpriced_calls: 0 };

function everyDay(usage: Usage, days: number): Spending[] {
  const known = new Map(usage.by_day.map((each) => [each.day, each]));
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(today - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return { ...NOTHING, ...known.get(day), day };
  });
}

function options(palette: Palette, all: readonly Spending[]): Omit<uPlot.Options, "width" | "height"> {
  const bars = uPlot.paths.bars?.({ size: [0.7, 44], radius: 0.12 });
  return {
    cursor: { y: false, points: { show: false } },
    scales: { x: { time: false, range: () => [-0.6, all.length - 0.4] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 0.01] } },
    axes: [
      axis(palette, { grid: { show: false }, values: (_, splits) => splits.map((at) => dayAt(all, at)), space: 60, gap: 8, size: 34, incrs: [1, 2, 5, 7, 14, 30] }),
      axis(palette, { size: 68, values: (_, splits) => amounts(splits) }),
    ],
    series: [
      {},
      {
        fill: palette.series[0] ?? palette.accent,
        stroke: palette.series[0] ?? palette.accent,
        ...(bars === undefined ? {} : { paths: bars }),
        points: { show: false },
      },
    ],
  };
}

function dayAt(all: readonly Spending[], at: number): string {
  const day = all[Math.round(at)]?.day;
  return day === undefined || !Number.isInteger(at) ? "" : DAY.format(Date.parse(day));
}

function sheetOf(all: readonly Spending[]): Sheet {
  return {
    name: "cellwright-cost-per-day",
    heads: ["day", "usd", "calls", "input_tokens", "output_tokens", "calls_without_a_price"],
    rows: all.map((each) => [each.day, each.microdollars / 1e6, each.calls, each.input_tokens, each.output_tokens, each.unpriced_calls]),
  };
}

/** The second column of every sheet of costs is money. */
export function showCost(value: Value, column: number) {
  if (value === null) return "–";
  if (column === 1 && typeof value === "number") return dollars(value * 1e6);
  return typeof value === "number" ? value.toLocaleString("en") : value;
}
