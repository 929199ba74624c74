/** A connection as it is typed. Pure. */

import type { DataConnection, NewConnection, SourceKind } from "../../api/types";

export interface FormValues {
  name: string;
  kind: SourceKind["kind"];
  /** By option; those of another kind are kept until it is sent. */
  options: Readonly<Record<string, string>>;
  secret: string;
  writer: string;
  writerSecret: string;
  /** A line for each. */
  masked: string;
  projects: string;
}

export const NO_VALUES: FormValues = {
  name: "",
  kind: "postgres",
  options: {},
  secret: "",
  writer: "",
  writerSecret: "",
  masked: "",
  projects: "",
};

/** Secrets are never filled in: nobody tells them. */
export function valuesOf(connection: DataConnection | null): FormValues {
  if (connection === null) return NO_VALUES;
  return {
    ...NO_VALUES,
    name: connection.name,
    kind: connection.kind,
    options: connection.options,
    writer: connection.writer,
    masked: connection.masked.join("\n"),
    projects: connection.projects.join("\n"),
  };
}

/** As the API takes it: options of this kind only, nothing that was left empty. */
export function bodyOf(values: FormValues, kind: SourceKind): NewConnection {
  const options = [...kind.needed, ...kind.known]
    .map((option) => [option, (values.options[option] ?? "").trim()] as const)
    .filter(([, value]) => value !== "");
  const isDatabase = kind.ways.includes("sql");
  const hasWriter = isDatabase && !kind.is_file;
  return {
    kind: kind.kind,
    options: Object.fromEntries(options),
    secret: kind.is_file || values.secret === "" ? null : values.secret,
    writer: hasWriter ? values.writer.trim() : "",
    writer_secret: hasWriter && values.writerSecret !== "" ? values.writerSecret : null,
    masked: isDatabase ? linesOf(values.masked) : [],
    projects: linesOf(values.projects),
  };
}

/** What is wrong before anything is sent; "": nothing. */
export function mistakeIn(values: FormValues, taken: readonly string[]): string {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(values.name))
    return "A name has small letters, digits and underscores, a letter first: notebooks call it so.";
  return taken.includes(values.name) ? `There is a connection called ${values.name} already.` : "";
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
