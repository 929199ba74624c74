import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import type uPlot from "uplot";

import type { Kernel, Kernels } from "../../api/types";
import { Card, Empty, StatusDot, Table, bytes, clock, elapsed } from "../../parts";
import { type History, NO_HISTORY, type Sample, WINDOW_SECONDS, look, titleOf } from "./kernel-history";
import { Panel } from "./panel";
import { DASHES, type Palette, Plot, axis } from "./plot";
import css from "./dashboards.module.css";

/** What the pictures show at least, so that the first seconds do not look like hours. */
const LEAST_SECONDS = 60;
// Kept while the tab lives: coming back to this page shows the minutes before.
let seen: History = NO_HISTORY;

/** What kernels use now and in the last minutes. */
export function KernelPanels({ now }: { now: Kernels }) {
  const [history, setHistory] = useState(seen);
  useEffect(() => {
    seen = look(seen, now, Date.now() / 1000);
    setHistory(seen);
  }, [now]);
  return (
    <>
      <HistoryPanel
        title="Kernel memory"
        name="cellwright-kernel-memory"
        unit="mb"
        history={history}
        pick={(sample) => sample.memory_mb}
        write={(value) => bytes(value * 1e6)}
        least={200}
      />
      <HistoryPanel
        title="Kernel CPU"
        name="cellwright-kernel-cpu"
        unit="percent_of_a_core"
        history={history}
        pick={(sample) => (sample.cpu === null ? null : Math.round(1000 * sample.cpu) / 10)}
        write={(value) => `${Math.round(value)}%`}
        least={100}
      />
      <KernelTable kernels={now.kernels} />
    </>
  );
}

interface HistoryPanelProps {
  title: string;
  name: string;
  unit: string;
  history: History;
  pick: (sample: Sample) => number | null;
  write: (value: number) => string;
  /** The scale reaches at least to here: small changes of little do not look large. */
  least: number;
}

function HistoryPanel({ title, name, unit, history, pick, write, least }: HistoryPanelProps) {
  const [point, setPoint] = useState<number | null>(null);
  const kernels = [...history.kernels];
  const values = kernels.map(([, { samples }]) => samples.map((sample) => (sample === null ? null : pick(sample))));
  const data = useMemo<uPlot.AlignedData>(() => [[...history.at], ...values], [history]);
  const lasts = kernels.map(([, { title: kernel }], at) => {
    const last = values[at]?.[history.at.length - 1];
    return `${kernel} ${last === null || last === undefined ? "ended" : write(last)}`;
  });
  const rows = kernels.flatMap(([pid, { title: kernel }], at) =>
    history.at.map((when, index) => [new Date(1000 * when).toISOString(), kernel, pid, values[at]?.[index] ?? null] as const),
  );
  return (
    <Panel
      title={title}
      says={lasts.join("; ")}
      sheet={{ name, heads: ["time", "notebook", "pid", unit], rows: rows.toReversed() }}
      empty="No kernel is running"
    >
      <ul className={css.keys} aria-hidden="true">
        {kernels.map(([pid, kernel], at) => {
          const value = values[at]?.[point ?? history.at.length - 1];
          return (
            <li key={pid}>
              <svg width="22" height="8">
                <line x1="0" x2="22" y1="4" y2="4" strokeWidth="2.5" stroke={`var(--series-${(at % 6) + 1})`} strokeDasharray={DASHES[at % DASHES.length]?.join(" ")} />
              </svg>
              <span className={css.keyName}>{kernel.title}</span>
              <b>{value === null || value === undefined ? "–" : write(value)}</b>
            </li>
          );
        })}
      </ul>
      <Plot
        onPoint={setPoint}
        data={data}
        options={(palette) => options(palette, kernels.length, write, least)}
        shape={kernels.map(([pid]) => pid).join()}
        height={170}
      />
    </Panel>
  );
}

function options(palette: Palette, count: number, write: (value: number) => string, least: number): Omit<uPlot.Options, "width" | "height"> {
  return {
    cursor: { y: false },
    scales: { x: { time: true, range: (_, first, last) => [Math.max(last - WINDOW_SECONDS, Math.min(first, last - LEAST_SECONDS)), last] }, y: { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.15)] } },
    axes: [
      axis(palette, { grid: { show: false }, space: 80, values: (_, splits) => splits.map((at) => clock(at * 1000).slice(0, 5)) }),
      axis(palette, { size: 64, values: (_, splits) => splits.map(write) }),
    ],
    series: [
      {},
      ...Array.from({ length: count }, (_, at) => ({
        stroke: palette.series[at % palette.series.length] ?? palette.accent,
        width: 2,
        dash: DASHES[at % DASHES.length] ?? [],
        points: { show: false },
      })),
    ],
  };
}

const STATES: Record<string, string> = { busy: "running", running: "running", idle: "idle", starting: "queued", stopped: "stopped" };

function KernelTable({ kernels }: { kernels: readonly Kernel[] }) {
  return (
    <Card title="Kernels" isFlush>
      {kernels.length === 0 ? (
        <Empty title="No kernel is running">One starts with every run, and with every notebook you open.</Empty>
      ) : (
        <Table
          caption="Kernels that run now"
          rows={kernels}
          rowKey={(kernel) => String(kernel.pid)}
          columns={[
            {
              title: "Notebook",
              cell: (kernel) => (kernel.run === null ? titleOf(kernel.notebook) : <Link href={`/runs/${kernel.run}`}>{titleOf(kernel.notebook)}</Link>),
            },
            { title: "State", cell: (kernel) => <StatusDot status={STATES[kernel.state] ?? kernel.state} word={kernel.state} /> },
            { title: "Memory", cell: (kernel) => bytes(kernel.memory_mb * 1e6), isNumber: true },
            { title: "CPU time", cell: (kernel) => elapsed(kernel.cpu_seconds), isNumber: true },
            { title: "Process", cell: (kernel) => kernel.pid, isNumber: true },
          ]}
        />
      )}
    </Card>
  );
}
