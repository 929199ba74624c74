/** Kinds of databases and what one takes, in a person's words. Pure. */

import type { DataConnection, SourceKind } from "../../api/types";

const KINDS: Record<SourceKind["kind"], string> = {
  postgres: "PostgreSQL",
  redshift: "Amazon Redshift",
  mysql: "MySQL or MariaDB",
  clickhouse: "ClickHouse",
  snowflake: "Snowflake",
  bigquery: "Google BigQuery",
  databricks: "Databricks",
  trino: "Trino",
  sqlite: "SQLite file",
  duckdb: "DuckDB file",
  s3: "S3 buckets",
  api: "HTTP API",
  http: "Files of a web server",
  webdav: "WebDAV server",
  sftp: "SFTP server",
  smb: "Windows share (SMB)",
  gcs: "Google Cloud Storage",
  azure: "Azure Blob Storage",
};

const OPTIONS: Record<string, { title: string; example: string }> = {
  host: { title: "Host", example: "db.example.com" },
  port: { title: "Port", example: "" },
  database: { title: "Database", example: "shop" },
  user: { title: "User", example: "reader" },
  schema: { title: "Schema", example: "as the server has it" },
  tls: { title: "TLS", example: "" },
  tls_ca: { title: "File of the certificate authority", example: "the system’s" },
  account: { title: "Account", example: "xy12345.eu-central-1" },
  warehouse: { title: "Warehouse", example: "the user’s own" },
  role: { title: "Role", example: "the user’s own" },
  project: { title: "Project", example: "my-project" },
  dataset: { title: "Dataset", example: "all" },
  location: { title: "Location", example: "EU" },
  http_path: { title: "HTTP path", example: "/sql/1.0/warehouses/…" },
  catalog: { title: "Catalogue", example: "hive" },
  path: { title: "File on the machine that serves this page", example: "/data/shop.db" },
};

const SECRETS: Partial<Record<SourceKind["kind"], string>> = {
  bigquery: "Key of a service account (JSON)",
  databricks: "Access token",
  s3: "Secret access key",
  api: "Key or token",
  sftp: "Password or private key",
  gcs: "Key of a service account (JSON)",
  azure: "Account key",
};

const PLACES: Record<string, string> = {
  keyring: "kept in the keyring",
  file: "kept in a file only you can read",
  command: "told by a command",
};

export function kindWord(kind: SourceKind["kind"]): string {
  return KINDS[kind];
}

export function optionWord(option: string): string {
  return OPTIONS[option]?.title ?? option;
}

export function exampleOf(option: string, kind: SourceKind): string {
  return option === "port" ? String(kind.port ?? "") : (OPTIONS[option]?.example ?? "");
}

export function secretWord(kind: SourceKind["kind"]): string {
  return SECRETS[kind] ?? "Password";
}

/** Where a secret is; "": none is kept. */
export function keptWords(place: string): string {
  return PLACES[place] ?? "";
}

export function secretWords(connection: Pick<DataConnection, "kind" | "secret_in">): string {
  if (connection.kind === "sqlite" || connection.kind === "duckdb") return "needs no secret";
  return keptWords(connection.secret_in) || "no secret is kept";
}
