/** Kinds of connections and what one takes, in a person's words. Pure. */

import type { DataConnection, SourceKind } from "../../api/types";

type Kind = SourceKind["kind"];

const KINDS: Record<Kind, string> = {
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

/** A field of the form. */
export interface OptionWords {
  title: string;
  /** What stands in it while it is empty: an example, or what holds then. */
  example: string;
  /** What it is about, where its title does not say it. */
  help?: string;
}

const OPTIONS: Record<string, OptionWords> = {
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
  buckets: { title: "Buckets", example: "lake, archive/sales", help: "With commas between; bucket/folder opens that folder alone." },
  access_key_id: { title: "Access key ID", example: "AKIA…", help: "Best of a user who may only read." },
  endpoint: { title: "Address of the server", example: "https://minio.example.org:9000" },
  region: { title: "Region", example: "us-east-1" },
  url: { title: "Address", example: "https://files.example.org/reports", help: "Only what is below it is reached." },
  header: { title: "Header of the secret", example: "Authorization" },
  form: { title: "Form of the secret", example: "Bearer {secret}", help: "{secret} alone for a bare key; Basic if the secret is user:password." },
  methods: { title: "Methods", example: "GET, HEAD", help: "What only reads, unless you add others. Agents need leave for those." },
  paths: { title: "Paths", example: "/people, /orders", help: "Below the address, with commas between. None: all." },
  openapi: { title: "OpenAPI document", example: "/v1/openapi.json", help: "A path of the API, or file:/… of this machine. What only reads becomes tools of agents." },
  host_key: { title: "Host key", example: "SHA256:…", help: "Leave it empty, test, and compare what the server shows with what whoever runs it says." },
  share: { title: "Share", example: "reports" },
  domain: { title: "Domain", example: "none" },
  bucket: { title: "Bucket", example: "acme-lake" },
  container: { title: "Container", example: "lake" },
  prefix: { title: "Folder", example: "all of it" },
};

/** What an option of the same name is for another kind. */
const OF_KIND: Partial<Record<Kind, Record<string, OptionWords>>> = {
  s3: {
    endpoint: { title: "Address of the server", example: "Amazon’s own", help: "For MinIO and others: https://minio.example.org:9000" },
    methods: { title: "Methods", example: "GET, HEAD", help: "With PUT, POST, DELETE cells may upload and delete. Agents need leave for those." },
  },
  api: { url: { title: "Address", example: "https://crm.example.org/v1", help: "Requests go to what is below it." } },
  http: { user: { title: "User", example: "none", help: "With one the secret is a password, without a bearer token." } },
  webdav: { url: { title: "Address", example: "https://cloud.example.org/remote.php/dav/files/ana" } },
  sftp: {
    host: { title: "Host", example: "sftp.example.org" },
    path: { title: "Folder", example: "the user’s home", help: "Nothing outside of it is reached." },
  },
  smb: {
    host: { title: "Host", example: "nas.example.org" },
    path: { title: "Folder", example: "all of the share", help: "Inside of the share." },
  },
  azure: {
    account: { title: "Account", example: "acme" },
    endpoint: { title: "Address of the server", example: "Azure’s own" },
  },
};

const SECRETS: Partial<Record<Kind, string>> = {
  bigquery: "Key of a service account (JSON)",
  databricks: "Access token",
  s3: "Secret access key",
  api: "Key or token",
  http: "Password or token",
  sftp: "Password or private key",
  gcs: "Key of a service account (JSON)",
  azure: "Account key or shared access signature",
};

/** Secrets of several lines, which a field of one line would join. */
const LONG_SECRETS: readonly Kind[] = ["sftp", "gcs", "bigquery"];

const PLACES: Record<string, string> = {
  keyring: "kept in the keyring",
  file: "kept in a file only you can read",
  command: "told by a command",
};

export function kindWord(kind: Kind): string {
  return KINDS[kind];
}

export function optionWords(option: string, kind: SourceKind): OptionWords {
  const words = OF_KIND[kind.kind]?.[option] ?? OPTIONS[option] ?? { title: option, example: "" };
  return option === "port" ? { ...words, example: String(kind.port ?? "") } : words;
}

export function secretWord(kind: Kind): string {
  return SECRETS[kind] ?? "Password";
}

export function hasLongSecret(kind: Kind): boolean {
  return LONG_SECRETS.includes(kind);
}

/** Where a secret is; "": none is kept. */
export function keptWords(place: string): string {
  return PLACES[place] ?? "";
}

export function secretWords(connection: Pick<DataConnection, "kind" | "secret_in">): string {
  if (connection.kind === "sqlite" || connection.kind === "duckdb") return "needs no secret";
  return keptWords(connection.secret_in) || "no secret is kept";
}

/** As whom it is opened; "": as nobody by name. */
export function userOf({ options }: Pick<DataConnection, "options">): string {
  return options["user"] ?? options["access_key_id"] ?? "";
}

/** What is sent to it. */
export function sentWord({ ways }: Pick<DataConnection, "ways">, count = 2): string {
  return `${ways.includes("sql") ? "Statement" : "Request"}${count === 1 ? "" : "s"}`;
}
