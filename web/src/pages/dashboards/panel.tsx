import { type ReactNode, useState } from "react";

import { Button, Card, Empty, Table } from "../../parts";
import { type Sheet, type Value, downloadSheet } from "./csv";
import css from "./dashboards.module.css";

export interface PanelProps {
  title: string;
  /** What the picture says, for people who cannot see it. */
  says: string;
  sheet: Sheet;
  /** How the table shows a value; the sheet keeps the bare number. */
  show?: (value: Value, column: number) => ReactNode;
  /** Said where there is nothing to draw. */
  empty: string;
  isWide?: boolean;
  children: ReactNode;
}

/** One picture: also as a table, and as a CSV file. */
export function Panel({ title, says, sheet, show = plain, empty, isWide = false, children }: PanelProps) {
  const [isTable, setTable] = useState(false);
  const isEmpty = sheet.rows.length === 0;
  const actions = (
    <span className={css.panelActions}>
      <Button size="small" look="quiet" aria-pressed={isTable} disabled={isEmpty} onClick={() => setTable(!isTable)}>
        Table
      </Button>
      <Button size="small" look="quiet" disabled={isEmpty} onClick={() => downloadSheet(sheet)} aria-label={`${title} as CSV`}>
        CSV
      </Button>
    </span>
  );
  return (
    <Card title={title} actions={actions} className={isWide ? `${css.panel} ${css.isWide}` : (css.panel ?? "")}>
      {isEmpty ? (
        <Empty title={empty} />
      ) : isTable ? (
        <SheetTable title={title} sheet={sheet} show={show} />
      ) : (
        <figure className={css.figure} aria-label={`${title}. ${says}`}>
          {children}
        </figure>
      )}
    </Card>
  );
}

function plain(value: Value): ReactNode {
  return value === null ? "–" : typeof value === "number" ? value.toLocaleString("en") : value;
}

function SheetTable({ title, sheet, show }: { title: string; sheet: Sheet; show: (value: Value, column: number) => ReactNode }) {
  const columns = sheet.heads.map((head, at) => ({
    title: head.replaceAll("_", " "),
    cell: (row: readonly Value[]) => show(row[at] ?? null, at),
    isNumber: typeof sheet.rows[0]?.[at] === "number",
  }));
  return (
    <div className={css.sheet}>
      <Table caption={`${title}, as a table`} columns={columns} rows={sheet.rows} rowKey={(row) => row.slice(0, 3).join("|")} />
    </div>
  );
}
