import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";

import type { Change } from "../../api/types";
import { Button, Empty, clock, homeAndEnd, useKeys } from "../../parts";
import { CellDiff } from "./cell-diff";
import { type ChangeRow, isToReview, nameOf, rowsOf } from "./change-rows";
import type { FollowedRun } from "./follow-run";
import { useReviewing } from "./reviewing";
import { agentName } from "./story";
import css from "./changes.module.css";

export interface ChangesProps {
  followed: FollowedRun;
  selected: string | null;
  onSelect: (cell: string | null) => void;
}

const GUESSES = { head: 40, cell: 170, moved: 56 } as const;

/** What agents did to the notebook, cell by cell, the newest first: keep it, or take it back and say why. */
export function Changes({ followed, onSelect }: ChangesProps) {
  const { changes, story } = followed;
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string | null>(null);
  const [comments, setComments] = useState<string | null>(null);
  const reviewing = useReviewing(followed);
  const rows = useMemo(() => rowsOf(changes), [changes]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => GUESSES[rows[at]?.kind ?? "cell"],
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: 4,
    paddingStart: 8,
    paddingEnd: 12,
  });
  const mark = (row: ChangeRow) => {
    setCurrent(row.key);
    if (row.kind === "cell") onSelect(nameOf(row.cell));
  };
  const step = (by: number) => {
    const cells = rows.flatMap((row, at) => (row.kind === "cell" ? [at] : []));
    const now = cells.findIndex((at) => rows[at]?.key === current);
    const next = cells[Math.min(cells.length - 1, Math.max(0, now + by))];
    const row = next === undefined ? undefined : rows[next];
    if (next === undefined || row === undefined) return;
    list.scrollToIndex(next, { align: "auto" });
    mark(row);
  };
  const now = rows.find((row) => row.key === current);
  const open = now?.kind === "cell" && isToReview(now.cell) && !now.change.is_undone ? now : null;
  useKeys("Changes", [
    { keys: "j", does: "Next cell", act: () => step(1) },
    { keys: "k", does: "Cell before", act: () => step(-1) },
    {
      keys: "v",
      does: "Accept the marked cell",
      act: () => open && void reviewing.judge(open.change, open.cell, "accept", ""),
    },
    { keys: "x", does: "Reject the marked cell, with a comment", act: () => open && setComments(open.key) },
  ]);
  if (rows.length === 0)
    return <Empty title="No changes yet">Every cell an agent writes or edits appears here as a diff.</Empty>;
  const drawn = (row: ChangeRow) => {
    switch (row.kind) {
      case "head":
        return (
          <ChangeHead
            change={row.change}
            name={agentName(story, row.change.agent)}
            isBusy={reviewing.busy === row.key}
            isHeld={reviewing.busy !== null}
            onUndo={() => void reviewing.undo(row.change)}
            onAcceptAll={() => void reviewing.acceptAll(row.change)}
          />
        );
      case "moved":
        return (
          <p className={css.moved}>
            {row.cells.length} {row.cells.length === 1 ? "cell stands" : "cells stand"} elsewhere now:{" "}
            {row.cells.slice(0, 12).map(nameOf).join(", ")}
            {row.cells.length > 12 && " …"}
          </p>
        );
      case "cell":
        return (
          <CellDiff
            cell={row.cell}
            isUndone={row.change.is_undone}
            isCurrent={row.key === current}
            isCommenting={comments === row.key}
            isBusy={reviewing.busy === row.key}
            onSelect={() => mark(row)}
            onAccept={() => void reviewing.judge(row.change, row.cell, "accept", "")}
            onReject={(comment) => {
              setComments(null);
              void reviewing.judge(row.change, row.cell, "reject", comment);
            }}
            onComment={(isWanted) => setComments(isWanted ? row.key : null)}
          />
        );
    }
  };
  return (
    <div
      ref={box}
      className={css.scroll}
      onKeyDown={homeAndEnd(list)}
      tabIndex={0}
      role="region"
      aria-label="Changes of the notebook"
    >
      <div className={css.rows} style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return row === undefined ? null : (
            <div
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              className={css.row}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {drawn(row)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface ChangeHeadProps {
  change: Change;
  name: string;
  isBusy: boolean;
  /** Something else is being sent. */
  isHeld: boolean;
  onUndo: () => void;
  onAcceptAll: () => void;
}

function ChangeHead({ change, name, isBusy, isHeld, onUndo, onAcceptAll }: ChangeHeadProps) {
  const open = change.cells.filter(isToReview).length;
  return (
    <header className={css.head}>
      <h2>
        Change {change.number} <span>by {name}</span>
      </h2>
      {change.at_ms !== null && <time className="numeric">{clock(change.at_ms)}</time>}
      {change.is_undone ? (
        <span className={css.undone}>undone</span>
      ) : (
        <>
          {open > 1 && (
            <Button look="quiet" size="small" isBusy={isBusy} disabled={isHeld} onClick={onAcceptAll}>
              ✓ Accept all {open}
            </Button>
          )}
          <Button look="quiet" size="small" disabled={isHeld} onClick={onUndo}>
            Undo
          </Button>
        </>
      )}
    </header>
  );
}
