import { useState } from "react";

import { Button, Diff, Python, unifiedRows } from "../../parts";
import { type EditedCell, editedCells } from "./edited-cells";
import type { CellRan, EntryBody } from "./story";
import css from "./activity.module.css";

const VERDICTS: Record<string, string> = { ask: "was asked", deny: "refused" };

/** What an agent did, or wanted to: the code is the thing itself. */
export function Action({
  audit,
  onCell,
}: {
  audit: Extract<EntryBody, { kind: "action" }>["audit"];
  onCell: (cell: string) => void;
}) {
  const cells = audit.action_kind === "edit-cells" ? editedCells(audit.what) : [];
  const [title = "", ...rest] = audit.what.split("\n");
  const isAllowed = audit.verdict === "allow";
  return (
    <>
      <p>
        {cells.length > 0 ? `Edits ${cells.length} ${cells.length === 1 ? "cell" : "cells"}` : title.replace(/:$/, "")}
        {(!isAllowed || audit.result === "refused") && (
          <span className={audit.result === "done" ? css.soft : css.trouble}>
            {" "}
            · {VERDICTS[audit.verdict] ?? audit.verdict}
            {audit.result !== "done" && audit.reason !== "" && `: ${audit.reason}`}
          </span>
        )}
        {audit.result === "failed" && <span className={css.trouble}> · failed</span>}
      </p>
      {cells.length > 0 ? (
        <Edits cells={cells} onCell={onCell} />
      ) : (
        rest.length > 0 && <Folded code={rest.join("\n")} />
      )}
    </>
  );
}

const FEW = 3;

function Edits({ cells, onCell }: { cells: readonly EditedCell[]; onCell: (cell: string) => void }) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? cells : cells.slice(0, FEW);
  return (
    <div className={css.edits}>
      {shown.map((cell) => (
        <div key={cell.cell} className={css.edit}>
          <button type="button" className={css.cellName} onClick={() => onCell(cell.name || cell.cell)}>
            {cell.name || cell.cell}
          </button>
          <Diff rows={unifiedRows(cell.lines)} most={isWhole ? 400 : 8} />
        </div>
      ))}
      {(cells.length > FEW || cells.some((cell) => cell.lines.length > 8)) && (
        <Button look="quiet" size="small" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Less" : cells.length > FEW ? `All ${cells.length} cells` : "All lines"}
        </Button>
      )}
    </div>
  );
}

function Folded({ code }: { code: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const lines = code.split("\n").length;
  return (
    <div className={css.edits}>
      <Python code={code} most={isWhole ? 400 : 6} />
      {lines > 6 && (
        <Button look="quiet" size="small" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Less" : `All ${lines} lines`}
        </Button>
      )}
    </div>
  );
}

/** Cells that ran after each other; those that went wrong come first. */
export function Cells({ cells, onCell }: { cells: readonly CellRan[]; onCell: (cell: string) => void }) {
  const [isWhole, setIsWhole] = useState(false);
  const wrong = cells.filter((cell) => cell.status !== "ok");
  const shown = isWhole ? cells : [...wrong, ...cells.filter((cell) => cell.status === "ok").slice(-6)];
  return (
    <>
      <p className={css.soft}>
        {cells.length === 1 ? "Ran a cell" : `Ran ${cells.length} cells`}
        {wrong.length > 0 && <span className={css.trouble}> · {wrong.length} went wrong</span>}
      </p>
      <ul className={css.chips}>
        {shown.map((cell) => (
          <li key={cell.name}>
            <button
              type="button"
              className={cell.status === "ok" ? css.chip : css.chipBad}
              title={`${cell.status}, ${cell.seconds.toFixed(2)} s`}
              onClick={() => onCell(cell.name)}
            >
              {cell.name}
              {cell.status !== "ok" && ` · ${cell.status}`}
              {cell.seconds >= 1 && <span className="numeric"> {cell.seconds.toFixed(1)} s</span>}
            </button>
          </li>
        ))}
        {cells.length > shown.length && (
          <li>
            <Button look="quiet" size="small" onClick={() => setIsWhole(true)}>
              +{cells.length - shown.length}
            </Button>
          </li>
        )}
      </ul>
    </>
  );
}
