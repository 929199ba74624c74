import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";

import { calls, request } from "../../api/client";
import { follow } from "../../api/stream";
import type { NotebookCell } from "../../api/types";
import { Button, Empty, Loading, ProblemBanner, Python, homeAndEnd, tellProblem } from "../../parts";
import { LARGE_SOON_MS, useKeptFresh } from "./follow-run";
import css from "./notebook.module.css";

export interface CellListProps {
  notebook: string;
  /** Another one whenever the cells may have changed. */
  mark: string;
  selected: string | null;
  onSelect: (cell: string | null) => void;
}

const LONGEST_OUTPUT = 4_000;

/** The cells as text: what they say, how they ended, what they show. A press marks one for the chat. */
export function CellList({ notebook, mark, selected, onSelect }: CellListProps) {
  const [news, setNews] = useState(0);
  const { value, error } = useKeptFresh(calls.readNotebook(notebook), `${mark} ${news}`, LARGE_SOON_MS);
  const isLive = value?.is_live === true;
  useEffect(
    () => (isLive ? follow({ stream: calls.followNotebook(notebook), onEvent: () => setNews((count) => count + 1) }) : undefined),
    [isLive, notebook],
  );
  const box = useRef<HTMLDivElement>(null);
  const cells = value?.cells ?? [];
  const list = useVirtualizer({
    count: cells.length,
    getScrollElement: () => box.current,
    estimateSize: (at) => 64 + Math.min(24, cells[at]?.code.split("\n").length ?? 1) * 18,
    getItemKey: (at) => cells[at]?.id ?? at,
    overscan: 4,
    paddingStart: 8,
    paddingEnd: 24,
  });
  const isThere = value !== null;
  useEffect(() => {
    const at = cells.findIndex((cell) => selected !== null && (cell.name === selected || cell.id === selected));
    if (at >= 0) list.scrollToIndex(at, { align: "auto" });
    // Only when another one is marked: new cells must not move the view.
  }, [selected, isThere]);
  if (value === null)
    return error === null ? (
      <Loading what="Reading the cells…" />
    ) : (
      <div className={css.problem}>
        <ProblemBanner error={error} />
      </div>
    );
  if (cells.length === 0) return <Empty title="No cells yet" />;
  return (
    <>
      {isLive && (
        <div className={css.tools}>
          <Button size="small" onClick={() => void request(calls.runCells(notebook, { cells: "stale" })).catch(tellProblem)}>
            Run stale cells
          </Button>
          <Button size="small" onClick={() => void request(calls.interruptNotebook(notebook)).catch(tellProblem)}>
            Interrupt
          </Button>
        </div>
      )}
      <div
        ref={box}
        className={css.scroll}
        onKeyDown={homeAndEnd(list)}
        tabIndex={0}
        role="region"
        aria-label="Cells"
      >
        <div className={css.rows} style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const cell = cells[item.index];
            if (cell === undefined) return null;
            const isSelected = selected !== null && (cell.name === selected || cell.id === selected);
            return (
              <div
                key={item.key}
                ref={list.measureElement}
                data-index={item.index}
                className={css.row}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <CellView
                  cell={cell}
                  isLive={value.is_live}
                  isSelected={isSelected}
                  onSelect={() => onSelect(isSelected ? null : cell.name || cell.id)}
                />
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

interface CellViewProps {
  cell: NotebookCell;
  /** If not, nothing has run, and nothing is said about it. */
  isLive: boolean;
  isSelected: boolean;
  onSelect: () => void;
}

function CellView({ cell, isLive, isSelected, onSelect }: CellViewProps) {
  const name = cell.name === "" || cell.name === "_" ? cell.id : cell.name;
  return (
    <article className={css.cell} data-status={cell.error === null ? cell.status : "failed"} data-selected={isSelected}>
      <header className={css.cellHead}>
        <button
          type="button"
          className={css.name}
          aria-pressed={isSelected}
          onClick={onSelect}
          title="Mark this cell; the chat is then about it"
        >
          {name}
        </button>
        <span className={css.status}>
          {isLive && (cell.is_stale ? "stale" : cell.status)}
          {cell.ms !== null &&
            ` · ${cell.ms < 1000 ? `${Math.round(cell.ms)} ms` : `${(cell.ms / 1000).toFixed(1)} s`}`}
        </span>
      </header>
      <Python code={cell.code} most={60} />
      {cell.error !== null && <pre className={css.error}>{cell.error}</pre>}
      {cell.output !== null && cell.output.text !== "" && (
        <pre className={css.output} tabIndex={0} aria-label={`Output of ${name}`}>
          {cell.output.text.slice(0, LONGEST_OUTPUT)}
        </pre>
      )}
    </article>
  );
}
