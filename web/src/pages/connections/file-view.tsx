import { useState } from "react";

import { calls } from "../../api/client";
import type { DataConnection, StoredEntry } from "../../api/types";
import { Button, Card, Loading, ProblemBanner, SnippetCard, ageOf, bytes, useFetched } from "../../parts";
import { fileSnippets } from "./snippets";
import { TableProfileView } from "./table-profile-view";
import css from "./connections.module.css";

export interface FileViewProps {
  connection: DataConnection;
  path: string;
  /** As the list tells it; null: it is not among what the list shows. */
  entry: StoredEntry | null;
}

/** One file: how large and old it is, how a cell reads it, and what is in it if somebody asks. */
export function FileView({ connection, path, entry }: FileViewProps) {
  const facts = [
    entry === null || entry.bytes === null ? "" : bytes(entry.bytes),
    entry === null || entry.modified === "" ? "" : `changed ${ageOf(Date.parse(entry.modified), Date.now())}`,
    `as data of a goal: ${connection.name}:${path}`,
  ];
  return (
    <div className={css.table}>
      <header>
        <h2 className={css.tableTitle}>{path.split("/").at(-1)}</h2>
        <p className={css.faint}>{facts.filter((each) => each !== "").join(" · ")}</p>
      </header>
      {fileSnippets(connection, "", path).map((snippet) => (
        <SnippetCard key={snippet.title} {...snippet} />
      ))}
      <Inside name={connection.name} path={path} />
    </div>
  );
}

/** Reading it is recorded, and of a large file a part is fetched: so only when somebody asks. */
function Inside({ name, path }: { name: string; path: string }) {
  const [isAsked, setAsked] = useState(false);
  const found = useFetched(isAsked ? calls.storedFileProfile(name, { path }) : null);
  return (
    <Card
      title="What is in it"
      isFlush
      actions={
        <Button size="small" isBusy={found.isLoading} onClick={isAsked ? found.refresh : () => setAsked(true)}>
          {isAsked ? "Look again" : "Look"}
        </Button>
      }
    >
      {!isAsked && (
        <p className={css.note}>Tables are looked at in a cage. Of a large file a part is fetched, and that is recorded as yours.</p>
      )}
      {found.isLoading && <Loading what="Fetching a part, and looking at it…" />}
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.value?.tables.map((table) => <TableProfileView key={table.table} of={path} table={table} />)}
      {found.value?.notes.map((note) => (
        <p key={note} className={css.note}>
          {note}
        </p>
      ))}
    </Card>
  );
}
