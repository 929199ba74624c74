import { useState } from "react";
import { Link } from "wouter";

import { calls } from "../../api/client";
import type { FirstRows, SchemaColumn, SchemaTable } from "../../api/types";
import { Banner, Button, Card, Empty, Loading, ProblemBanner, Table, thousands, useFetched } from "../../parts";
import { tablePlace } from "./places";
import { TableProfileView } from "./table-profile-view";
import css from "./connections.module.css";

/** One table: columns, what it is joined with, and its first rows if somebody asks for them. */
export function TableView({ name, table }: { name: string; table: SchemaTable }) {
  return (
    <div className={css.table}>
      <header>
        <h2 className={css.tableTitle}>{table.qualified}</h2>
        <p className={css.faint}>
          {table.kind} · {table.columns.length} columns
          {table.rows !== null && ` · about ${thousands(table.rows)} rows`}
        </p>
        {table.comment !== "" && <p>{table.comment}</p>}
      </header>
      <Card isFlush>
        <Table
          caption={`Columns of ${table.qualified}`}
          rows={table.columns}
          rowKey={(column) => column.name}
          columns={[
            { title: "Column", cell: (column) => <ColumnName column={column} /> },
            { title: "Type", cell: (column) => <ColumnType column={column} /> },
            { title: "About it", cell: (column) => <About column={column} /> },
          ]}
        />
      </Card>
      {table.foreign_keys.length > 0 && (
        <Card title="Joins">
          <ul className={css.joins}>
            {table.foreign_keys.map((key) => (
              <li key={`${key.columns.join()} ${key.table}`}>
                <code>{key.columns.join(", ")}</code> is{" "}
                <Link href={tablePlace(name, key.table)}>{key.table}</Link>
                {key.target.length > 0 && (
                  <>
                    ’s <code>{key.target.join(", ")}</code>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Profile name={name} table={table.qualified} />
      <Rows name={name} table={table.qualified} />
    </div>
  );
}

function ColumnName({ column }: { column: SchemaColumn }) {
  return (
    <span className={css.columnName}>
      <code>{column.name}</code>
      {column.is_key && <span className={css.tag}>key</span>}
      {column.is_masked && <span className={css.maskedTag}>masked</span>}
    </span>
  );
}

function ColumnType({ column }: { column: SchemaColumn }) {
  return (
    <span className={css.type}>
      {column.type}
      {!column.is_nullable && <span className={css.faint}> never empty</span>}
    </span>
  );
}

function About({ column }: { column: SchemaColumn }) {
  return (
    <span className={css.about}>
      {column.comment !== "" && <span>{column.comment}</span>}
      {column.is_masked && <span className={css.faint}>Nobody sees its values.</span>}
      {column.samples.length > 0 && <span className={css.faint}>such as {column.samples.join(", ")}</span>}
    </span>
  );
}

/** Rows of it are fetched into a cage, and that is recorded: so only when somebody asks. */
function Profile({ name, table }: { name: string; table: string }) {
  const [isAsked, setAsked] = useState(false);
  const found = useFetched(isAsked ? calls.connectionProfile(name, { table }) : null);
  return (
    <Card
      title="Profile"
      isFlush
      actions={
        <Button size="small" isBusy={found.isLoading} onClick={isAsked ? found.refresh : () => setAsked(true)}>
          {isAsked ? "Profile again" : "Profile it"}
        </Button>
      }
    >
      {!isAsked && (
        <p className={css.note}>Ranges, gaps and problems of its columns, from a sample of its rows; recorded as yours.</p>
      )}
      {found.isLoading && <Loading what="Fetching a sample, and looking at it…" />}
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.value !== null && <TableProfileView of={table} table={found.value} />}
    </Card>
  );
}

/** Reading them is a statement like any other, and recorded: so only when somebody asks. */
function Rows({ name, table }: { name: string; table: string }) {
  const [isAsked, setAsked] = useState(false);
  const found = useFetched(isAsked ? calls.connectionRows(name, { table }) : null);
  return (
    <Card
      title="First rows"
      isFlush
      actions={
        <Button size="small" isBusy={found.isLoading} onClick={isAsked ? found.refresh : () => setAsked(true)}>
          {isAsked ? "Read again" : "Show them"}
        </Button>
      }
    >
      {!isAsked && <p className={css.note}>Reading them is recorded as yours, as every statement is.</p>}
      {found.isLoading && <Loading what="Asking the database…" />}
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.value !== null && <RowTable table={table} found={found.value} />}
    </Card>
  );
}

function RowTable({ table, found }: { table: string; found: FirstRows }) {
  if (found.rows.length === 0) return <Empty title="It has no rows" />;
  return (
    <>
      {found.notices.map((notice) => (
        <Banner key={notice} tone="info">
          {notice}
        </Banner>
      ))}
      <Table
        caption={`First rows of ${table}`}
        rows={found.rows.map((row, at) => ({ row, at }))}
        rowKey={({ at }) => String(at)}
        columns={found.columns.map(([title], at) => ({
          title: String(title),
          isNumber: found.rows.some((row) => typeof row[at] === "number"),
          cell: ({ row }: { row: readonly unknown[]; at: number }) => <Value value={row[at]} />,
        }))}
      />
    </>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span className={css.faint}>–</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return <span className={css.value}>{text}</span>;
}
