import assert from "node:assert/strict";
import { test } from "node:test";

import {
  NO_VALUES, ageOf, amountWords, bodyOf, contentOf, filePlace, fileSnippets, groupsOfSent, kindOfSent, mistakeIn, requestSnippet,
  sentLine, splitPlace, stepsTo,
} from "../node_modules/.tests/units.js";

const POSTGRES = { kind: "postgres", ways: ["sql"], needed: ["host", "user"], known: ["port"], port: 5432, is_file: false, is_untried: false };
const SQLITE = { kind: "sqlite", ways: ["sql"], needed: ["path"], known: [], port: null, is_file: true, is_untried: false };

test("what is sent has the options of its kind, and nothing that was left empty", () => {
  const values = {
    ...NO_VALUES,
    options: { host: " db ", user: "ada", port: "", path: "/x.db" },
    secret: " a password ",
    masked: "\n customers.email \n\n",
  };
  assert.deepEqual(bodyOf(values, POSTGRES), {
    kind: "postgres",
    options: { host: "db", user: "ada" },
    secret: " a password ",
    writer: "",
    writer_secret: null,
    masked: ["customers.email"],
    projects: [],
  });
});

test("a file gets no secret, whatever was typed before", () => {
  const values = { ...NO_VALUES, options: { path: "/x.db" }, secret: "hush", writer: "bob", writerSecret: "hush" };
  const { secret, writer, writer_secret } = bodyOf(values, SQLITE);
  assert.deepEqual([secret, writer, writer_secret], [null, "", null]);
});

test("a name is one that notebooks can write, and nobody else's", () => {
  assert.equal(mistakeIn({ ...NO_VALUES, name: "shop_2" }, ["other"]), "");
  for (const name of ["", "Shop", "2shop", "my shop", "-add", "a".repeat(41)]) assert.match(mistakeIn({ ...NO_VALUES, name }, []), /small letters/);
  assert.match(mistakeIn({ ...NO_VALUES, name: "shop" }, ["shop"]), /already/);
});

test("what is no database is sent without masks and writer, whatever was typed for another kind", () => {
  const kind = { kind: "sftp", ways: ["files"], needed: ["host"], known: ["path"], port: 22, is_file: false, is_untried: false };
  const values = { ...NO_VALUES, options: { host: "h", database: "d" }, secret: "-----BEGIN\nkey", writer: "bob", writerSecret: "x", masked: "a.b" };
  assert.deepEqual(bodyOf(values, kind), {
    kind: "sftp", options: { host: "h" }, secret: "-----BEGIN\nkey", writer: "", writer_secret: null, masked: [], projects: [],
  });
});

test("a place of a file leads back to its folder, whatever its name has in it", () => {
  assert.equal(filePlace("lake", ""), "/connections/lake");
  assert.equal(filePlace("lake", "a b/50%/"), "/connections/lake/folders/a%20b/50%25");
  assert.equal(filePlace("lake", "a/x#1.csv"), "/connections/lake/files/a/x%231.csv");
  assert.deepEqual(splitPlace("a/b/c.csv"), { folder: "a/b", file: "a/b/c.csv" });
  assert.deepEqual(splitPlace("a/b/"), { folder: "a/b", file: null });
  assert.deepEqual(splitPlace("c.csv"), { folder: "", file: "c.csv" });
  assert.deepEqual(stepsTo("a/b"), [{ title: "a", place: "a/" }, { title: "b", place: "a/b/" }]);
  assert.deepEqual([["sql"], ["exchange", "files"], ["exchange"]].map((ways) => contentOf({ ways })), ["tables", "files", "operations"]);
});

test("what is copied into a cell reads the file, or asks the API with the stand-in", () => {
  const [read, own] = fileSnippets({ name: "lake", kind: "s3" }, "", "bucket/a/t.parquet");
  assert.match(read.code, /lake = cellwright\.files\("lake"\)\nwith lake\.open\("bucket\/a\/t\.parquet"\) as opened:\n {4}table = pandas\.read_parquet\(opened\)/);
  assert.match(own.code, /polars\.scan_parquet\("s3:\/\/bucket\/a\/t\.parquet"\)/);
  assert.match(fileSnippets({ name: "drop", kind: "sftp" }, "", "x.jsonl")[0].code, /read_json\(opened, lines=True\)/);
  assert.match(fileSnippets({ name: "drop", kind: "sftp" }, "", "x.pdf")[0].code, /drop\.cat_file\("x\.pdf"\)/);
  assert.match(fileSnippets({ name: "drop", kind: "sftp" }, "a", null)[0].code, /drop\.ls\("a"\)/);
  const api = { origin: "https://crm.example.org", base: "/v1", methods: ["GET"], paths: [], header: "X-Key", stand_in: "cellwright-secret:crm" };
  assert.match(requestSnippet(api, null).code, /requests\.get\(\n {4}"https:\/\/crm\.example\.org\/v1",\n {4}headers=\{"X-Key": "cellwright-secret:crm"\}/);
});

test("the record says what was asked of files and what an API answered", () => {
  assert.deepEqual(["LIST ", "STAT a/b.csv", "READ a b.csv 0-99", "READ x 1000-", "GET /v1/a?b=1", "select 1"].map((statement) => [kindOfSent({ statement }), sentLine({ statement })]), [
    ["files", "Listed the topmost folder"],
    ["files", "Looked for a/b.csv"],
    ["files", "Read a b.csv, bytes 0 to 99"],
    ["files", "Read x, from byte 1,000 on"],
    ["exchange", "GET /v1/a?b=1"],
    ["sql", "select 1"],
  ]);
  assert.equal(kindOfSent({ statement: "DELETE /* all */ from t" }), "sql");
  assert.equal(amountWords({ statement: "GET /a", access: "read", rows: null, bytes: 2000, status: 200 }), "answered 200, 2.0 KB");
  const read = (range, more) => ({ connection: "lake", person: "ada", run: "", notebook: "", statement: `READ a.parquet ${range}`, outcome: "done", bytes: 10, ...more });
  const groups = groupsOfSent([read("0-9"), read("10-19"), read("20-29", { outcome: "failed" }), read("30-39", { person: "bob" })]);
  assert.deepEqual(groups.map(({ count, bytes }) => [count, bytes]), [[2, 20], [1, 10], [1, 10]]);
});

test("a file's age has its year once the minute matters no more", () => {
  const now = Date.UTC(2026, 10, 18);
  assert.match(ageOf(Date.UTC(2026, 10, 1, 12), now), /^1 Nov, /);
  assert.match(ageOf(Date.UTC(2019, 2, 5), now), /2019/);
});
