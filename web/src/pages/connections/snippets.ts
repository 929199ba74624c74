/** What somebody copies into a cell to use a connection. Pure. */

import type { ApiContents, ApiOperation, DataConnection } from "../../api/types";

export interface Snippet {
  title: string;
  code: string;
}

const TABLES: readonly (readonly [RegExp, string])[] = [
  [/\.(parquet|pq)$/i, "read_parquet"],
  [/\.(csv|tsv|txt)(\.gz)?$/i, "read_csv"],
  [/\.(jsonl|ndjson)(\.gz)?$/i, "read_json"],
  [/\.json$/i, "read_json"],
  [/\.xlsx?$/i, "read_excel"],
  [/\.(feather|arrow)$/i, "read_feather"],
];

/** For files: of one, how it is read; of a folder, how it is listed. */
export function fileSnippets(connection: DataConnection, folder: string, file: string | null): Snippet[] {
  const { name, kind } = connection;
  const opened = `import cellwright_cells as cellwright\n\n${name} = cellwright.files(${text(name)})`;
  if (file === null)
    return [
      { title: "Files in a notebook", code: `${opened}\n${name}.ls(${text(folder)})` },
      ...(kind === "s3" ? [bucketSnippet(folder)] : []),
    ];
  const reader = TABLES.find(([ending]) => ending.test(file))?.[1];
  const lines = reader === "read_json" && /l(\.gz)?$|ndjson/i.test(file) ? ", lines=True" : "";
  const read =
    reader === undefined
      ? `${opened}\ncontent = ${name}.cat_file(${text(file)})`
      : `import cellwright_cells as cellwright\nimport pandas\n\n${name} = cellwright.files(${text(name)})\nwith ${name}.open(${text(file)}) as opened:\n    table = pandas.${reader}(opened${lines})`;
  return [{ title: "In a notebook", code: read }, ...(kind === "s3" ? [objectSnippet(file)] : [])];
}

function bucketSnippet(folder: string): Snippet {
  const [bucket = "", ...inside] = folder.split("/");
  const prefix = inside.length === 0 ? "" : `, Prefix=${text(`${inside.join("/")}/`)}`;
  const code = `import boto3\n\nboto3.client("s3").list_objects_v2(Bucket=${text(bucket || "BUCKET")}${prefix})`;
  return { title: "With a library of your own; there is no key to write", code };
}

function objectSnippet(file: string): Snippet {
  const title = "With a library of your own; there is no key to write";
  if (/\.(parquet|pq)$/i.test(file)) return { title, code: `import polars\n\npolars.scan_parquet(${text(`s3://${file}`)}).collect()` };
  const [bucket = "", ...key] = file.split("/");
  const code = `import boto3\n\nboto3.client("s3").get_object(Bucket=${text(bucket)}, Key=${text(key.join("/"))})["Body"].read()`;
  return { title, code };
}

/** A request of an API, the stand-in where its secret belongs. */
export function requestSnippet(api: ApiContents, operation: ApiOperation | null): Snippet {
  const method = (operation?.method ?? api.methods[0] ?? "GET").toLowerCase();
  const path = operation?.path ?? api.paths[0] ?? (api.base === "" ? "/" : api.base);
  const queries = (operation?.parameters ?? []).filter((each) => each.place === "query" && each.is_required);
  const params = queries.length === 0 ? "" : `\n    params={${queries.map((each) => `${text(each.name)}: …`).join(", ")}},`;
  const body = ["post", "put", "patch"].includes(method) ? "\n    json={…}," : "";
  const code = `import requests

answer = requests.${method}(
    ${text(`${api.origin}${path}`)},${params}${body}
    headers={${text(api.header)}: ${text(api.stand_in)}},
    timeout=60,
)
answer.json()`;
  return { title: operation === null ? "In a notebook" : `${operation.method} ${operation.path} in a notebook`, code };
}

/** As Python writes it. */
function text(value: string): string {
  return JSON.stringify(value);
}
