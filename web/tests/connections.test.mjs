import assert from "node:assert/strict";
import { test } from "node:test";

import { NO_VALUES, bodyOf, mistakeIn } from "../node_modules/.tests/units.js";

const POSTGRES = { kind: "postgres", needed: ["host", "user"], known: ["port"], port: 5432, is_file: false, is_untried: false };
const SQLITE = { kind: "sqlite", needed: ["path"], known: [], port: null, is_file: true, is_untried: false };

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
