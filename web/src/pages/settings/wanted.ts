/** What an agent may want to do, as a form asks for it. Pure. */

import type { Saying, WantedAction } from "../../api/types";

export const SAYINGS: Record<Saying, string> = { allow: "Allowed", ask: "Asks you", deny: "Never" };

export interface Field {
  name: string;
  title: string;
  example: string;
  /** words: split at spaces. path: from the folder unless it begins with a slash. */
  as: "text" | "number" | "words" | "path" | "money" | "access";
}

export interface Wanted {
  action: WantedAction["action"];
  title: string;
  fields: readonly Field[];
  /** What the API wants and nobody needs to type. */
  given?: Readonly<Record<string, unknown>>;
}

export const FIRST_WANTED: Wanted = {
  action: "use-network",
  title: "Connect to a host",
  fields: [
    { name: "host", title: "Host", example: "api.example.com", as: "text" },
    { name: "port", title: "Port", example: "443", as: "number" },
  ],
};

export const WANTED: readonly Wanted[] = [
  FIRST_WANTED,
  { action: "install-package", title: "Install a package", fields: [{ name: "requirement", title: "Package", example: "lifelines>=0.30", as: "text" }] },
  { action: "read-file", title: "Read a file", fields: [{ name: "path", title: "File", example: "data/orders.csv", as: "path" }] },
  { action: "write-file", title: "Write a file", fields: [{ name: "path", title: "File", example: "out/report.csv", as: "path" }], given: { diff: "" } },
  { action: "delete-file", title: "Delete a file", fields: [{ name: "path", title: "File", example: "out/old.csv", as: "path" }] },
  {
    action: "query-connection",
    title: "Query a database",
    fields: [
      { name: "connection", title: "Connection", example: "warehouse", as: "text" },
      { name: "access", title: "To", example: "read", as: "access" },
      { name: "statement", title: "Statement", example: "select 1", as: "text" },
    ],
  },
  {
    action: "run-shell",
    title: "Run a program",
    fields: [
      { name: "command", title: "Command", example: "git log", as: "words" },
      { name: "folder", title: "In", example: ".", as: "path" },
    ],
  },
  {
    action: "git-commit",
    title: "Commit to git",
    fields: [
      { name: "repository", title: "Repository", example: ".", as: "path" },
      { name: "branch", title: "Branch", example: "main", as: "text" },
    ],
    given: { message: "", diff: "" },
  },
  { action: "edit-cells", title: "Edit cells", fields: [{ name: "notebook", title: "Notebook", example: "churn.py", as: "path" }], given: { diff: "" } },
  { action: "run-code", title: "Run code in the notebook", fields: [{ name: "notebook", title: "Notebook", example: "churn.py", as: "path" }], given: { code: "" } },
  { action: "spend", title: "Spend money", fields: [{ name: "price", title: "US dollars", example: "0.50", as: "money" }] },
  {
    action: "call-tool",
    title: "Call a tool of another server",
    fields: [
      { name: "server", title: "Server", example: "tickets", as: "text" },
      { name: "tool", title: "Tool", example: "search", as: "text" },
    ],
    given: { arguments: "{}" },
  },
  {
    action: "change-attached",
    title: "Change a notebook outside the cage",
    fields: [
      { name: "server", title: "Server", example: "http://127.0.0.1:2718", as: "text" },
      { name: "notebook", title: "Notebook", example: "sums.py", as: "text" },
    ],
    given: { change: "" },
  },
];

/** The action as the API takes it; what was left empty is taken from the example. */
export function actionOf(wanted: Wanted, typed: Readonly<Record<string, string>>, folder: string): WantedAction {
  const fields = wanted.fields.map((field) => [field.name, valueOf(field, typed[field.name] || field.example, folder)] as const);
  return { action: wanted.action, ...wanted.given, ...Object.fromEntries(fields) };
}

function valueOf(field: Field, text: string, folder: string): unknown {
  switch (field.as) {
    case "number":
      return Number(text);
    case "words":
      return text.trim().split(/\s+/);
    case "path":
      return text.startsWith("/") ? text : text === "." ? folder : `${folder}/${text}`;
    case "money":
      return { amount: text, currency: "USD" };
    case "text":
    case "access":
      return text;
  }
}
