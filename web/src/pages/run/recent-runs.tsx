import { Link } from "wouter";

import { calls } from "../../api/client";
import { useHouse } from "../../house";
import { StatusDot, cost, dateTime, elapsed, useFetched } from "../../parts";
import css from "./goal.module.css";

const MOST = 6;

/** What ran lately, and what waits. */
export function RecentRuns() {
  const fetched = useFetched(calls.listRuns({ limit: MOST }));
  const told = useHouse((house) => house.runs);
  const runs = [
    ...new Map([...(fetched.value?.runs ?? []), ...Object.values(told)].map((run) => [run.run, run])).values(),
  ]
    .toSorted((a, b) => b.began_ms - a.began_ms)
    .slice(0, MOST);
  return (
    <aside className={css.recent} aria-label="Recent runs">
      <h2>Lately</h2>
      {runs.length === 0 && fetched.value === null ? null : runs.length === 0 ? (
        <p className={css.none}>
          Nothing has run yet. New here? <Link href="/welcome">Take the short tour</Link>
        </p>
      ) : (
        <ul>
          {runs.map((run) => (
            <li key={run.run}>
              <Link href={`/runs/${encodeURIComponent(run.run)}`}>
                <span className={css.runGoal}>{run.goal || run.run}</span>
                <span className={css.runMeta}>
                  <StatusDot status={run.status} />
                  <span className="numeric">
                    {dateTime(run.began_ms)} · {elapsed(run.seconds)} · {cost(run.microdollars, run.unpriced_tokens)}
                  </span>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {runs.length > 0 && (
        <Link href="/runs" className={css.all}>
          All runs
        </Link>
      )}
    </aside>
  );
}
