import type { Latency } from "../../api/types";
import type { Value } from "./csv";
import { Panel } from "./panel";
import { Ranked } from "./ranked";
import css from "./dashboards.module.css";

/** How long each model takes: half of all answers come by the first mark, 95 of 100 by the second. */
export function LatencyPanel({ latency }: { latency: readonly Latency[] }) {
  const rows = latency.toSorted((one, other) => other.p95_ms - one.p95_ms);
  const longest = Math.max(1, ...rows.map((row) => row.p95_ms));
  return (
    <Panel
      title="How long models take"
      says={rows.map((row) => `${row.model}: half within ${seconds(row.p50_ms)}, 95 of 100 within ${seconds(row.p95_ms)}`).join("; ")}
      sheet={{ name: "cellwright-latency", heads: ["model", "p50_ms", "p95_ms", "calls", "failures"], rows: rows.map((row) => [row.model, row.p50_ms, row.p95_ms, row.calls, row.failures]) }}
      show={showTime}
      empty="No model was asked in this time"
    >
      <p className={css.legend} aria-hidden="true">
        <span className={css.half} /> half of all answers <span className={css.most} /> 95 of 100
      </p>
      <ol className={css.ranges}>
        {rows.map((row) => (
          <li key={row.model}>
            <span className={css.rankLabel}>{row.model}</span>
            <span className={css.rankValue}>
              {seconds(row.p50_ms)} <span className={css.note}>to {seconds(row.p95_ms)}</span>
            </span>
            <span className={css.rangeTrack} aria-hidden="true">
              <span className={css.rangeSpan} style={{ left: `${(100 * row.p50_ms) / longest}%`, right: `${100 - (100 * row.p95_ms) / longest}%` }} />
              <span className={css.half} style={{ left: `${(100 * row.p50_ms) / longest}%` }} />
              <span className={css.most} style={{ left: `${(100 * row.p95_ms) / longest}%` }} />
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

export function FailuresPanel({ latency }: { latency: readonly Latency[] }) {
  const rows = latency.toSorted((one, other) => rate(other) - rate(one));
  const worst = Math.max(0.01, ...rows.map(rate));
  return (
    <Panel
      title="Calls that failed"
      says={rows.map((row) => `${row.model}: ${row.failures} of ${row.calls}`).join("; ")}
      sheet={{ name: "cellwright-failures", heads: ["model", "failures", "calls", "share"], rows: rows.map((row) => [row.model, row.failures, row.calls, Math.round(1e4 * rate(row)) / 1e4]) }}
      empty="No model was asked in this time"
    >
      <Ranked
        series={2}
        ranks={rows.map((row) => ({ id: row.model, label: row.model, share: rate(row) / worst, value: percent(rate(row)), note: `${row.failures} of ${row.calls.toLocaleString("en")}` }))}
      />
    </Panel>
  );
}

function rate(row: Latency): number {
  return row.calls === 0 ? 0 : row.failures / row.calls;
}

export function percent(share: number): string {
  return share === 0 ? "0%" : share < 0.1 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}

function seconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

function showTime(value: Value, column: number) {
  if (typeof value !== "number") return value ?? "–";
  return column === 1 || column === 2 ? seconds(value) : value.toLocaleString("en");
}
