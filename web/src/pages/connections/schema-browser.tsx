import { useRef, useState } from "react";
import { Link } from "wouter";

import { calls } from "../../api/client";
import type { DataSchema, SchemaTable } from "../../api/types";
import { Button, Empty, Loading, ProblemBanner, dateTime, thousands, useFetched } from "../../parts";
import { connectionPlace, tablePlace } from "./places";
import { SearchBox } from "./search-box";
import { TableView } from "./table-view";
import css from "./connections.module.css";

/** Tables on the left, searched while somebody types; the one that was picked on the right. */
export function SchemaBrowser({ name, table }: { name: string; table: string | null }) {
  const [search, setSearch] = useState("");
  const found = useFetched(calls.connectionSchema(name, { search }));
  // While the next answer is on its way, the one before stays: nothing flickers under somebody who types.
  const last = useRef<DataSchema | null>(null);
  if (found.value !== null) last.current = found.value;
  const schema = found.value ?? last.current;
  const listed = schema?.tables.find((each) => each.qualified === table);
  const single = useFetched(table === null || listed !== undefined || schema === null ? null : calls.connectionSchema(name, { table }));
  const shown = listed ?? single.value?.tables[0];
  if (schema === null)
    return found.error === null ? (
      <Loading what="Reading what is there…" />
    ) : (
      <ProblemBanner error={found.error} actions={<Button size="small" onClick={found.refresh}>Try again</Button>} />
    );
  return (
    <div className={css.browser} data-picked={table !== null}>
      <section className={css.tables} aria-label="Tables">
        <SearchBox what="Search tables and columns" room="Tables" onSearch={setSearch} />
        <p className={css.faint} role="status">
          {foundWords(schema, search)}
        </p>
        {found.error !== null && <ProblemBanner error={found.error} />}
        <ul>
          {schema.tables.map((each) => (
            <li key={each.qualified}>
              <Link href={tablePlace(name, each.qualified)} className={css.tableLink} aria-current={each.qualified === table ? "true" : undefined}>
                <span className={css.tableName}>{each.qualified}</span>
                <span className={css.faint}>{sizeWords(each)}</span>
              </Link>
            </li>
          ))}
        </ul>
        {schema.read_at !== "" && <p className={css.faint}>{`${schema.server}, read ${dateTime(Date.parse(schema.read_at))}. “Test” reads it anew.`}</p>}
      </section>
      <div className={css.picked}>
        {table !== null && (
          <Link href={connectionPlace(name)} className={css.toTables}>
            ← All tables
          </Link>
        )}
        {table === null ? (
          <Empty title="Pick a table">Its columns, what it is joined with, and its first rows are shown here.</Empty>
        ) : shown !== undefined ? (
          <TableView key={shown.qualified} name={name} table={shown} />
        ) : single.error !== null ? (
          <ProblemBanner error={single.error} />
        ) : single.isLoading ? (
          <Loading />
        ) : (
          <Empty title={`There is no table ${table}`}>It may be gone, or not for this user to see.</Empty>
        )}
      </div>
    </div>
  );
}

function foundWords(schema: DataSchema, search: string): string {
  const all = `${thousands(schema.total)} ${schema.total === 1 ? "table" : "tables"}`;
  const many = search === "" ? all : `${thousands(schema.fitting)} of ${all}`;
  return schema.tables.length < schema.fitting ? `${many}, the first ${schema.tables.length} are shown` : many;
}

function sizeWords(table: SchemaTable): string {
  const rows = table.rows === null ? "" : `${thousands(table.rows)} ${table.rows === 1 ? "row" : "rows"}`;
  return [table.kind === "view" ? "view" : "", rows].filter((each) => each !== "").join(" · ");
}
