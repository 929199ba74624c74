/** Where things of this room are. A connection's name begins with a letter. Pure. */

import type { DataConnection } from "../../api/types";

export const ADDING = "-add";

/** What a connection shows first: tables of a database, files, or what an API can be asked. */
export type ContentView = "tables" | "files" | "operations";

export function contentOf({ ways }: Pick<DataConnection, "ways">): ContentView {
  return ways.includes("sql") ? "tables" : ways.includes("files") ? "files" : "operations";
}

export function connectionPlace(name: string, view: ContentView | "statements" | "change" = "tables"): string {
  return view === "statements" || view === "change" ? `/connections/${name}/${view}` : `/connections/${name}`;
}

export function tablePlace(name: string, table: string): string {
  return `/connections/${name}/tables/${encodeURIComponent(table)}`;
}

/** A folder's path ends with a slash here, a file's does not; the topmost folder's is empty. */
export function filePlace(name: string, path: string): string {
  if (path === "") return connectionPlace(name);
  const isFolder = path.endsWith("/");
  const parts = path.replace(/\/$/, "").split("/").map(encodeURIComponent);
  // A slash at the end of an address means nothing to whoever reads it.
  return `/connections/${name}/${isFolder ? "folders" : "files"}/${parts.join("/")}`;
}

/** The folder that a place is in or is, without its slash, and the file that it is, if it is one. */
export function splitPlace(place: string): { folder: string; file: string | null } {
  if (place === "" || place.endsWith("/")) return { folder: place.replace(/\/+$/, ""), file: null };
  const cut = place.lastIndexOf("/");
  return { folder: cut < 0 ? "" : place.slice(0, cut), file: place };
}

/** The folders on the way to one, each with its own place: `a/b` gives a and b. */
export function stepsTo(folder: string): { title: string; place: string }[] {
  const parts = folder === "" ? [] : folder.split("/");
  return parts.map((title, at) => ({ title, place: `${parts.slice(0, at + 1).join("/")}/` }));
}
