import type { ProfiledColumn, TableProfile } from "../../api/types";
import { Table, thousands } from "../../parts";
import css from "./connections.module.css";

export interface TableProfileViewProps {
  /** What was looked at, whose name need not be said again. */
  of: string;
  table: TableProfile;
}

/** What a table is: columns, what they mean, gaps, values, and what a careful person would want to know. */
export function TableProfileView({ of, table }: TableProfileViewProps) {
  const rows = `${table.is_counted ? "" : "about "}${thousands(table.rows)} ${table.rows === 1 ? "row" : "rows"}`;
  const isNamed = !table.table.endsWith(of);
  return (
    <section className={css.profile} aria-label={`Profile of ${table.table}`}>
      <p className={css.note}>
        {isNamed && <b>{table.table}: </b>}
        {rows}, {table.columns.length} {table.columns.length === 1 ? "column" : "columns"}
        {table.sampling !== "" && `; looked at ${table.sampling}`}
        {table.facts.map((fact) => ` · ${fact}`).join("")}
      </p>
      <Table
        caption={`Profiled columns of ${table.table}`}
        rows={table.columns}
        rowKey={(column) => column.name}
        columns={[
          { title: "Column", cell: (column) => <code>{column.name}</code> },
          { title: "What it is", cell: kindWords },
          { title: "Missing", isNumber: true, cell: (column) => (column.missing === 0 ? "" : thousands(column.missing)) },
          { title: "Values", cell: (column) => <span className={css.value}>{column.values}</span> },
        ]}
      />
      {table.remarks.length > 0 && (
        <ul className={css.remarks}>
          {table.remarks.map((remark) => (
            <li key={`${remark.column} ${remark.says}`}>
              {remark.column !== "" && <code>{remark.column}: </code>}
              {remark.says}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function kindWords(column: ProfiledColumn): string {
  const meaning = column.meaning === column.kind ? "" : column.meaning;
  return [column.kind, meaning, column.unit].filter((each) => each !== "").join(", ");
}
