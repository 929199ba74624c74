// Tables as CSV (RFC 4180), made in the page and handed to the browser as a download.

export type Value = string | number | null;

/** A sheet: a name for the file, the heads, and the rows. */
export interface Sheet {
  readonly name: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

export function csvOf(sheet: Sheet): string {
  return [sheet.heads, ...sheet.rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/** A text that a spreadsheet would read as a formula gets an apostrophe before it. */
function field(value: Value): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export function downloadSheet(sheet: Sheet): void {
  save(new Blob([csvOf(sheet)], { type: "text/csv;charset=utf-8" }), `${sheet.name}.csv`);
}

/** Hand a file to the person. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the content by the next task; until then the address must hold.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
