import { useState } from "react";

import { type Call, calls } from "../../api/client";
import type { FileEntry, StoredEntry } from "../../api/types";
import { Button, Dialog, Empty, Loading, ProblemBanner, bytes, useFetched } from "../../parts";
import css from "./goal.module.css";

export interface FilePickerProps {
  /** Connections with files; null: the folder that is served. */
  stores: readonly string[] | null;
  /** Paths, of a connection `NAME:path`. */
  picked: readonly string[];
  onPick: (word: string) => void;
  onClose: () => void;
}

interface PickerListing {
  entries: (FileEntry | StoredEntry)[];
  /** Of a connection: so many there are. */
  total?: number;
}

/** Files that lie in the folder already, or behind a connection. */
export function FilePicker({ stores, picked, onPick, onClose }: FilePickerProps) {
  const [store, setStore] = useState<string | null>(stores?.length === 1 ? (stores[0] ?? null) : null);
  const [path, setPath] = useState("");
  const isChoosing = stores !== null && store === null;
  const place: Call<PickerListing> = store === null ? calls.listFiles({ path }) : calls.connectionFiles(store, { path });
  const listing = useFetched(isChoosing ? null : place);
  const entries = (listing.value?.entries ?? []).toSorted((a, b) => Number(b.is_folder) - Number(a.is_folder) || a.name.localeCompare(b.name));
  const wordOf = (inside: string) => (store === null ? inside : `${store}:${inside}`);
  const back = () => (path === "" ? setStore(null) : setPath(path.split("/").slice(0, -1).join("/")));
  const hasBack = path !== "" || (store !== null && stores !== null && stores.length > 1);
  const more = (listing.value?.total ?? 0) - entries.length;
  return (
    <Dialog
      title={isChoosing ? "Connections with files" : wordOf(path) || "The folder"}
      onClose={onClose}
      actions={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      {listing.error !== null && <ProblemBanner error={listing.error} />}
      {listing.isLoading && <Loading />}
      <ul className={css.pickList}>
        {hasBack && (
          <li>
            <button type="button" onClick={back}>
              ← back
            </button>
          </li>
        )}
        {isChoosing &&
          stores.map((name) => (
            <PickerRow key={name} title={name} isFolder isPicked={picked.includes(`${name}:`)} onOpen={() => setStore(name)} onPick={() => onPick(`${name}:`)} />
          ))}
        {entries.map((entry) => (
          <PickerRow
            key={entry.path}
            title={entry.name}
            isFolder={entry.is_folder}
            size={entry.bytes}
            isPicked={picked.includes(wordOf(entry.path))}
            onOpen={() => setPath(entry.path)}
            onPick={() => onPick(wordOf(entry.path))}
          />
        ))}
      </ul>
      {more > 0 && <p className={css.means}>{more.toLocaleString("en")} more; type what you mean as NAME:path.</p>}
      {listing.value !== null && entries.length === 0 && <Empty title="Nothing here" />}
    </Dialog>
  );
}

interface PickerRowProps {
  title: string;
  isFolder: boolean;
  size?: number | null;
  isPicked: boolean;
  onOpen: () => void;
  onPick: () => void;
}

function PickerRow({ title, isFolder, size = null, isPicked, onOpen, onPick }: PickerRowProps) {
  return (
    <li>
      <button type="button" aria-pressed={isFolder ? undefined : isPicked} onClick={isFolder ? onOpen : onPick}>
        <span aria-hidden="true">{isFolder ? "▸" : isPicked ? "✓" : "+"}</span>
        {title}
        {!isFolder && size !== null && <span className={css.size}>{bytes(size)}</span>}
      </button>
      {isFolder && (
        <Button look="quiet" size="small" aria-label={`Add all of ${title}`} onClick={onPick}>
          {isPicked ? "Added" : "Add all of it"}
        </Button>
      )}
    </li>
  );
}
