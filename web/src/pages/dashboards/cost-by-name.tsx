import { Link } from "wouter";

import type { Spent, Usage } from "../../api/types";
import { dollars, thousands } from "../../parts";
import { showCost } from "./cost-by-day";
import { Panel } from "./panel";
import { Ranked } from "./ranked";

const MOST = 8;

export function CostByModel({ usage }: { usage: Usage }) {
  const rows = usage.by_model.toSorted(dearest);
  const most = rows[0]?.microdollars ?? 0;
  return (
    <Panel
      title="Cost per model"
      says={rows[0] === undefined ? "" : `${rows[0].model} cost most: ${dollars(rows[0].microdollars)}.`}
      sheet={{ name: "cellwright-cost-per-model", heads: ["model", ...HEADS], rows: rows.map((row) => [row.model, ...values(row)]) }}
      show={showCost}
      empty="No model was asked in this time"
    >
      <Ranked
        ranks={rows.slice(0, MOST).map((row) => ({
          id: row.model,
          label: row.model,
          share: share(row.microdollars, most),
          value: cost(row),
          note: `${row.calls.toLocaleString("en")} calls · ${thousands(row.input_tokens + row.output_tokens)} tokens`,
        }))}
      />
    </Panel>
  );
}

export function CostByRun({ usage }: { usage: Usage }) {
  const rows = usage.by_run.toSorted(dearest);
  const most = rows[0]?.microdollars ?? 0;
  return (
    <Panel
      title="Cost per run"
      says={rows[0] === undefined ? "" : `The dearest run cost ${dollars(rows[0].microdollars)}.`}
      sheet={{ name: "cellwright-cost-per-run", heads: ["run", ...HEADS, "goal"], rows: rows.map((row) => [row.run || "outside of runs", ...values(row), row.goal]) }}
      show={showCost}
      empty="No run asked a model in this time"
    >
      <Ranked
        series={3}
        ranks={rows.slice(0, MOST).map((row) => ({
          id: row.run || "none",
          label: row.run === "" ? "Outside of runs" : <Link href={`/runs/${row.run}/detail`}>{row.goal || row.run}</Link>,
          share: share(row.microdollars, most),
          value: cost(row),
        }))}
      />
    </Panel>
  );
}

const HEADS = ["usd", "calls", "input_tokens", "output_tokens", "calls_without_a_price"];

function values(sum: Spent): number[] {
  return [sum.microdollars / 1e6, sum.calls, sum.input_tokens, sum.output_tokens, sum.unpriced_calls];
}

/** A price nobody knows is said to be unknown, never 0. */
function cost(sum: Spent): string {
  if (sum.unpriced_calls === 0) return dollars(sum.microdollars);
  return sum.microdollars === 0 ? "price unknown" : `${dollars(sum.microdollars)} + unknown`;
}

function share(amount: number, most: number): number {
  return most === 0 ? 0 : amount / most;
}

function dearest(one: Spent, other: Spent): number {
  return other.microdollars - one.microdollars || other.calls - one.calls;
}
