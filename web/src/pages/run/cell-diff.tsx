import { useMemo, useState } from "react";

import type { CellChange } from "../../api/types";
import { Button, Diff, countRows, diffRows } from "../../parts";
import css from "./changes.module.css";

export interface CellDiffProps {
  cell: CellChange;
  isUndone: boolean;
  isCurrent: boolean;
  isCommenting: boolean;
  isBusy: boolean;
  onSelect: () => void;
  onAccept: () => void;
  onReject: (comment: string) => void;
  onComment: (isWanted: boolean) => void;
}

const SHORT = 24;

/** One cell before and after, and what a person says to it. */
export function CellDiff({ cell, isUndone, isCurrent, isCommenting, isBusy, ...on }: CellDiffProps) {
  const rows = useMemo(() => diffRows(cell.before ?? "", cell.after ?? ""), [cell.before, cell.after]);
  const { added, removed } = countRows(rows);
  const [isWhole, setIsWhole] = useState(false);
  const isOpen = cell.review === "open" && !isUndone;
  const name = cell.name || cell.cell;
  return (
    <section
      className={css.cell}
      data-current={isCurrent}
      data-review={isUndone ? "undone" : cell.review}
      aria-label={`${cell.kind} ${name}`}
    >
      <header className={css.cellHead}>
        <button
          type="button"
          className={css.name}
          onClick={on.onSelect}
          aria-pressed={isCurrent}
          title="Mark this cell; the chat is then about it"
        >
          {name}
        </button>
        <span className={css.kind}>{cell.kind}</span>
        {added + removed > 0 && (
          <span className={css.counts}>
            <span className={css.plus}>+{added}</span> <span className={css.minus}>−{removed}</span>
          </span>
        )}
        {isOpen && !isCommenting && (
          <span className={css.verdicts}>
            <Button size="small" look="quiet" onClick={on.onAccept} isBusy={isBusy} aria-label={`Accept ${name}`}>
              ✓ Accept
            </Button>
            <Button size="small" look="quiet" onClick={() => on.onComment(true)} aria-label={`Reject ${name}`}>
              ✗ Reject…
            </Button>
          </span>
        )}
        {!isOpen && <span className={css.review}>{isUndone ? "undone" : cell.review}</span>}
      </header>
      {rows.length === 0 ? (
        <p className={css.same}>{cell.kind === "moved" ? "Moved to another place." : "No lines changed."}</p>
      ) : (
        <Diff rows={rows} most={isWhole ? 2000 : SHORT} />
      )}
      {rows.length > SHORT && (
        <Button size="small" look="quiet" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Less" : `All ${rows.length} lines`}
        </Button>
      )}
      {cell.comment !== "" && <p className={css.comment}>{cell.comment}</p>}
      {isCommenting && (
        <Rejecting name={name} isBusy={isBusy} onReject={on.onReject} onClose={() => on.onComment(false)} />
      )}
    </section>
  );
}

interface RejectingProps {
  name: string;
  isBusy: boolean;
  onReject: (comment: string) => void;
  onClose: () => void;
}

function Rejecting({ name, isBusy, onReject, onClose }: RejectingProps) {
  const [comment, setComment] = useState("");
  return (
    <form
      className={css.rejecting}
      onSubmit={(event) => {
        event.preventDefault();
        onReject(comment.trim());
      }}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <label>
        <span className="visually-hidden">Why {name} is rejected</span>
        <input
          value={comment}
          onChange={(event) => setComment(event.target.value)}
          placeholder="Why? The agent is told (optional)"
          maxLength={2000}
          autoFocus
        />
      </label>
      <Button size="small" onClick={onClose}>
        Keep it
      </Button>
      <Button size="small" look="danger" type="submit" isBusy={isBusy}>
        Take it back
      </Button>
    </form>
  );
}
