import type { ReactNode } from "react";
import { Link } from "wouter";

import type { Kernels, Usage } from "../../api/types";
import { bytes, dollars, thousands } from "../../parts";
import { useRunList } from "../runs/list-state";
import { percent } from "./latency";
import css from "./dashboards.module.css";

/** The few numbers one looks at first. */
export function Tiles({ usage, now, days }: { usage: Usage | null; now: Kernels | null; days: number }) {
  return (
    <dl className={css.tiles}>
      {usageTiles(usage, days)}
      {nowTiles(now)}
    </dl>
  );
}

function usageTiles(usage: Usage | null, days: number): ReactNode {
  const sum = (pick: (row: Usage["by_model"][number]) => number) => (usage?.by_model ?? []).reduce((total, row) => total + pick(row), 0);
  const calls = (usage?.latency ?? []).reduce((total, row) => total + row.calls, 0);
  const failures = (usage?.latency ?? []).reduce((total, row) => total + row.failures, 0);
  const unpriced = sum((row) => row.unpriced_calls);
  return (
    <>
      <Tile name={`Spent in ${days} days`} note={unpriced > 0 ? `and ${unpriced.toLocaleString("en")} calls without a known price` : "every price is known"}>
        {usage === null ? null : dollars(sum((row) => row.microdollars))}
      </Tile>
      <Tile name="Model calls" note={`${thousands(sum((row) => row.input_tokens + row.output_tokens))} tokens`}>
        {usage === null ? null : sum((row) => row.calls).toLocaleString("en")}
      </Tile>
      <Tile name="Failed calls" note={`${failures} of ${calls.toLocaleString("en")}`}>
        {usage === null ? null : percent(calls === 0 ? 0 : failures / calls)}
      </Tile>
    </>
  );
}

function nowTiles(now: Kernels | null): ReactNode {
  const kernels = now?.kernels ?? [];
  const memory = kernels.reduce((total, kernel) => total + kernel.memory_mb, 0);
  const waiting = now?.questions_waiting ?? 0;
  return (
    <>
      <Tile name="Kernels" note={`${bytes(memory * 1e6)} of memory`}>
        {now === null ? null : kernels.length}
      </Tile>
      <Tile name="Runs at work" note={now === null || now.queue.waiting === 0 ? "nobody waits for a turn" : `${now.queue.waiting} waiting for a turn`}>
        {now?.queue.at_work ?? null}
      </Tile>
      <Tile name="Waiting for you" isCalling={waiting > 0} note={waiting === 0 ? "nothing to answer" : <Link href="/runs" onClick={() => useRunList.setState({ filter: "waiting", search: "" })}>See who asks</Link>}>
        {now === null ? null : waiting}
      </Tile>
    </>
  );
}

function Tile({ name, note, isCalling = false, children }: { name: string; note: ReactNode; isCalling?: boolean; children: ReactNode }) {
  return (
    <div className={css.tile} data-calling={isCalling}>
      <dt>{name}</dt>
      <dd className={css.figureNumber}>{children ?? "–"}</dd>
      <dd className={css.note}>{children === null ? " " : note}</dd>
    </div>
  );
}
