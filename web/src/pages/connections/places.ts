/** Where things of this room are. A connection's name begins with a letter. Pure. */

export const ADDING = "-add";

export function connectionPlace(name: string, view: "tables" | "statements" | "change" = "tables"): string {
  return view === "tables" ? `/connections/${name}` : `/connections/${name}/${view}`;
}

export function tablePlace(name: string, table: string): string {
  return `/connections/${name}/tables/${encodeURIComponent(table)}`;
}
