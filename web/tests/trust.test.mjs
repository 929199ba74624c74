import assert from "node:assert/strict";
import { test } from "node:test";

import { answerOf, choicesOf, trustBlocks } from "../node_modules/.tests/units.js";

const ours = (text, isHead = false) => ({ kind: "ours", text, isHead });
const theirs = (...lines) => ({ kind: "theirs", lines: lines.map(([text, kind = "same"]) => ({ text, kind })) });

test("a project's lines stand apart from ours, whatever they say", () => {
  const lines = ["Project: /p", "", "Role 'coder'", "Text:", "│ Role 'x'", "│", "┊ Accepted", "", "Accepted, these count."];
  assert.deepEqual(trustBlocks(lines), [
    ours("Project: /p"),
    ours("Role 'coder'", true),
    ours("Text:"),
    theirs(["│ Role 'x'"], ["│"], ["┊ Accepted"]),
    ours("Accepted, these count."),
  ]);
});

test("what changed is marked line by line, and a long line that goes on is marked with its beginning", () => {
  const lines = [
    "Role 'coder'",
    "Changed since ada accepted it on 2026-11-17; + is new, - is gone.",
    "Description:",
    "│ + is no difference here",
    "Text:",
    "│ @@ -1,3 +1,3 @@",
    "│  same",
    "│ -gone",
    "│ +new and long",
    "┊ and longer",
  ];
  assert.deepEqual(trustBlocks(lines).slice(2), [
    ours("Description:"),
    theirs(["│ + is no difference here"]),
    ours("Text:"),
    theirs(
      ["│ @@ -1,3 +1,3 @@"],
      ["│  same"],
      ["│ -gone", "removed"],
      ["│ +new and long", "added"],
      ["┊ and longer", "added"],
    ),
  ]);
});

test("what is new cannot dress up as a difference, not even after one that changed", () => {
  const changed = ["Role 'a'", "Changed since ada accepted it on 2026-11-17; + is new, - is gone.", "Text:"];
  const lines = [...changed, "│ @@ -1 +1 @@", "│ -x", "Role 'b'", "Text:", "│ @@ -1 +1 @@", "│ -y"];
  assert.deepEqual(trustBlocks(lines).at(-1), theirs(["│ @@ -1 +1 @@"], ["│ -y"]));
});

test("the answers say what they mean and are sent as they are offered", () => {
  const question = { id: "q", topic: "project-trust", what: "", offers: ["accept", "go on without"], fingerprint: "" };
  const choices = choicesOf(question);
  assert.deepEqual(
    choices.map(({ title, key }) => [title, key]),
    [["Accept", "y"], ["Go on without", "n"]],
  );
  assert.ok(choices.every(({ means }) => means !== ""));
  assert.deepEqual(
    choices.map((choice) => answerOf(question, choice, "").answer),
    ["accept", "go on without"],
  );
});
