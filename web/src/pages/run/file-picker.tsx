import { useState } from "react";

import type { FileEntry } from "../../api/types";
import { Button, Dialog, Empty, Loading, ProblemBanner, bytes, useFetched } from "../../parts";
import css from "./goal.module.css";

export interface FilePickerProps {
  picked: readonly string[];
  onPick: (path: string) => void;
  onClose: () => void;
}

/** Files that lie in the folder already. */
export function FilePicker({ picked, onPick, onClose }: FilePickerProps) {
  const [path, setPath] = useState("");
  const listing = useFetched<{ path: string; entries: FileEntry[] }>(`/files?path=${encodeURIComponent(path)}`);
  const entries = (listing.value?.entries ?? []).toSorted(
    (a, b) => Number(b.is_folder) - Number(a.is_folder) || a.name.localeCompare(b.name),
  );
  return (
    <Dialog
      title={path === "" ? "The folder" : path}
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
        {path !== "" && (
          <li>
            <button type="button" onClick={() => setPath(path.split("/").slice(0, -1).join("/"))}>
              ← back
            </button>
          </li>
        )}
        {entries.map((entry) => (
          <li key={entry.path}>
            <button
              type="button"
              aria-pressed={entry.is_folder ? undefined : picked.includes(entry.path)}
              onClick={() => (entry.is_folder ? setPath(entry.path) : onPick(entry.path))}
            >
              <span aria-hidden="true">{entry.is_folder ? "▸" : picked.includes(entry.path) ? "✓" : "+"}</span>
              {entry.name}
              {!entry.is_folder && <span className={css.size}>{bytes(entry.bytes)}</span>}
            </button>
            {entry.is_folder && (
              <Button look="quiet" size="small" onClick={() => onPick(entry.path)}>
                Add all of it
              </Button>
            )}
          </li>
        ))}
      </ul>
      {listing.value !== null && entries.length === 0 && <Empty title="Nothing here" />}
    </Dialog>
  );
}
