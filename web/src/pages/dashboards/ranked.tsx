import type { ReactNode } from "react";

import css from "./dashboards.module.css";

export interface Rank {
  id: string;
  label: ReactNode;
  /** From 0 to 1, of the longest. */
  share: number;
  value: string;
  note?: string;
}

/** Longest first; what a bar says stands beside it in words. */
export function Ranked({ ranks, series = 1 }: { ranks: readonly Rank[]; series?: number }) {
  return (
    <ol className={css.ranks}>
      {ranks.map((rank) => (
        <li key={rank.id}>
          <span className={css.rankLabel}>{rank.label}</span>
          <span className={css.rankValue}>
            {rank.value}
            {rank.note !== undefined && <span className={css.note}> {rank.note}</span>}
          </span>
          <span className={css.track} aria-hidden="true">
            <span className={css.fill} style={{ width: rank.share === 0 ? 0 : `${Math.max(rank.share * 100, 0.6)}%`, background: `var(--series-${series})` }} />
          </span>
        </li>
      ))}
    </ol>
  );
}
