import { useEffect, useState } from "react";
import { Link } from "wouter";

import { calls } from "../../api/client";
import type { DataConnection, StoredEntry, StoredListing } from "../../api/types";
import { Button, Empty, Loading, ProblemBanner, SnippetCard, ageOf, bytes, thousands, useFetched } from "../../parts";
import { FileView } from "./file-view";
import { filePlace, splitPlace, stepsTo } from "./places";
import { SearchBox } from "./search-box";
import { fileSnippets } from "./snippets";
import css from "./connections.module.css";

/** A folder on the left, searched while somebody types; on the right the file that was picked, or how a cell reads it. */
export function FileBrowser({ connection, place }: { connection: DataConnection; place: string }) {
  const { name } = connection;
  const { folder, file } = splitPlace(place);
  const [search, setSearch] = useState("");
  const whole = useFetched(calls.connectionFiles(name, { path: folder }));
  // Each look at a server is recorded: what is here already is searched here.
  const isCut = whole.value !== null && whole.value.entries.length < whole.value.total;
  const searched = useFetched(isCut && search !== "" ? calls.connectionFiles(name, { path: folder, search }) : null);
  useEffect(() => setSearch(""), [folder]);
  const found = isCut && search !== "" ? searched : whole;
  const listing = found.value === null || isCut ? found.value : fitting(found.value, search);
  const entry = listing?.entries.find((each) => each.path === file) ?? null;
  return (
    <div className={css.browser} data-picked={file !== null}>
      <section className={css.tables} aria-label="Files">
        <Steps name={name} folder={folder} />
        <SearchBox key={folder} what="Search this folder" room="Files" onSearch={setSearch} />
        {found.error !== null ? (
          <ProblemBanner error={found.error} actions={<Button size="small" onClick={found.refresh}>Try again</Button>} />
        ) : listing === null ? (
          <Loading what="Looking what is there…" />
        ) : (
          <>
            <p className={css.faint} role="status">
              {foundWords(listing, search)}
            </p>
            <ul>
              {listing.entries.map((each) => (
                <li key={each.path}>
                  <Entry name={name} entry={each} isPicked={each.path === file} />
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <div className={css.picked}>
        {file !== null && (
          <Link href={filePlace(name, folder === "" ? "" : `${folder}/`)} className={css.toTables}>
            ← All files
          </Link>
        )}
        {file !== null ? (
          <FileView key={file} connection={connection} path={file} entry={entry} />
        ) : (
          <>
            <Empty title="Pick a file">Its size and age, what is in it, and how a cell reads it are shown here.</Empty>
            {fileSnippets(connection, folder, null).map((snippet) => (
              <SnippetCard key={snippet.title} {...snippet} />
            ))}
          </>
        )}
      </div>
    </div>
  );
}

/** Where somebody is, each folder on the way a link. */
function Steps({ name, folder }: { name: string; folder: string }) {
  const steps = stepsTo(folder);
  return (
    <nav className={css.steps} aria-label="Folder">
      {[{ title: name, place: "" }, ...steps].map(({ title, place }, at) => (
        <span key={place}>
          {at > 0 && <span aria-hidden="true">/ </span>}
          {at === steps.length ? <b aria-current="true">{title}</b> : <Link href={filePlace(name, place)}>{title}</Link>}
        </span>
      ))}
    </nav>
  );
}

function Entry({ name, entry, isPicked }: { name: string; entry: StoredEntry; isPicked: boolean }) {
  const place = entry.is_folder ? `${entry.path}/` : entry.path;
  return (
    <Link href={filePlace(name, place)} className={css.tableLink} aria-current={isPicked ? "true" : undefined}>
      <span className={css.tableName}>
        <span className={css.mark} aria-hidden="true">
          {entry.is_folder ? "▸" : ""}
        </span>
        {entry.name}
        {entry.is_folder && <span className="visually-hidden">, a folder</span>}
      </span>
      <span className={css.faint}>{sizeWords(entry)}</span>
    </Link>
  );
}

/** How large and how old; "" for what the server does not say. */
export function sizeWords(entry: StoredEntry): string {
  const size = entry.bytes === null ? "" : bytes(entry.bytes);
  const age = entry.is_folder || entry.modified === "" ? "" : ageOf(Date.parse(entry.modified), Date.now());
  return [size, age].filter((each) => each !== "").join(" · ");
}

function fitting(listing: StoredListing, search: string): StoredListing {
  const parts = search.toLowerCase().split(/\s+/);
  const entries = listing.entries.filter(({ name }) => parts.every((part) => name.toLowerCase().includes(part)));
  return { ...listing, entries, fitting: entries.length };
}

function foundWords(listing: StoredListing, search: string): string {
  if (listing.total === 0) return "Nothing is in it";
  const count = `${thousands(listing.total)}${listing.is_cut ? " and more" : ""}`;
  const all = `${count} ${listing.total === 1 ? "file or folder" : "files and folders"}`;
  const many = search === "" ? all : `${thousands(listing.fitting)} of ${all}`;
  return listing.entries.length < listing.fitting ? `${many}, the first ${thousands(listing.entries.length)} are shown` : many;
}
