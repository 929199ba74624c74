import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answerOf,
  choicesOf,
  countRows,
  diffRows,
  editedCells,
  isToReview,
  layout,
  parseBlock,
  pythonLines,
  rowsOf,
  unifiedRows,
} from "../node_modules/.tests/units.js";

const task = (id, after = []) => ({
  id,
  title: id,
  todo: "",
  after,
  checks: [],
  role: "coder",
  status: "planned",
  note: "",
});

test("an event is read from its lines, and a heartbeat is none", () => {
  assert.deepEqual(parseBlock('id: 7\nevent: fact\ndata: {"a":\ndata: 1}'), {
    id: "7",
    event: "fact",
    data: '{"a":\n1}',
  });
  assert.equal(parseBlock(": still here"), null);
  assert.equal(parseBlock("retry: 1000"), null);
});

test("a diff counts lines, marks the words that changed, and folds what stayed", () => {
  const before = ["a", "b", "c", "d", "e", "f = mean(x)", "g"].join("\n");
  const rows = diffRows(before, before.replace("mean", "median"));
  assert.deepEqual(countRows(rows), { added: 1, removed: 1 });
  assert.deepEqual(rows[0], { kind: "fold", lines: 3 });
  const added = rows.find((row) => row.kind === "added");
  assert.deepEqual(
    added.parts.filter((part) => part.isStrong).map((part) => part.text),
    ["median"],
  );
});

test("a new cell is all additions, a deleted one all removals, an equal one nothing", () => {
  assert.deepEqual(countRows(diffRows("", "a\nb")), { added: 2, removed: 0 });
  assert.deepEqual(countRows(diffRows("a\nb", "")), { added: 0, removed: 2 });
  assert.deepEqual(countRows(diffRows("a", "a")), { added: 0, removed: 0 });
});

test("the cells of an edit are found by name and id", () => {
  const what =
    "Edit cells of n.py:\n--- total (IZZb) before\n+++ total (IZZb) after\n@@ -1 +1 @@\n-a\n+b\n--- XXom before\n+++ XXom after\n@@ -0,0 +1 @@\n+c";
  const cells = editedCells(what);
  assert.deepEqual(
    cells.map(({ name, cell }) => [name, cell]),
    [
      ["total", "IZZb"],
      ["", "XXom"],
    ],
  );
  assert.deepEqual(
    unifiedRows(cells[0].lines).map((row) => row.kind),
    ["removed", "added"],
  );
});

test("a task stands below all it needs, and a plan that bites its tail is still drawn", () => {
  const drawn = layout([task("a"), task("b", ["a"]), task("c", ["a"]), task("d", ["b", "c", "gone"])]);
  const y = Object.fromEntries(drawn.nodes.map((node) => [node.task.id, node.y]));
  assert.ok(y.a < y.b && y.b === y.c && y.c < y.d);
  assert.equal(drawn.edges.length, 4);
  assert.equal(layout([task("a", ["b"]), task("b", ["a"])]).nodes.length, 2);
  assert.deepEqual(layout([]), { width: 146, height: 0, nodes: [], edges: [] });
});

test("an approval offers what policy offers, and the answer bears the fingerprint of what was shown", () => {
  const question = {
    id: "q",
    run: "r",
    topic: "approval",
    what: "",
    offers: ["once", "always", "no"],
    fingerprint: "f1",
    answer_with: "",
  };
  const [once, always, no] = choicesOf(question);
  assert.deepEqual([once.key, always.key, no.key], ["y", "a", "n"]);
  assert.deepEqual(answerOf(question, always, ""), { answer: "yes", reach: "always", fingerprint: "f1", feedback: "" });
  assert.deepEqual(answerOf(question, no, "use the file"), {
    answer: "no",
    reach: null,
    fingerprint: "f1",
    feedback: "use the file",
  });
});

test("a plain question whose choice is called always means nothing but that word", () => {
  const question = {
    id: "q",
    run: "r",
    topic: "agent-question",
    what: "",
    offers: ["always", "no"],
    fingerprint: "",
    answer_with: "",
  };
  const [always] = choicesOf(question);
  assert.equal(always.key, "");
  assert.deepEqual(answerOf(question, always, ""), { answer: "always", reach: null, fingerprint: "", feedback: "" });
});

test("a raised cap says by how much", () => {
  const question = {
    id: "q",
    run: "r",
    topic: "budget",
    what: "",
    offers: ["raise", "no"],
    fingerprint: "f",
    answer_with: "",
  };
  assert.equal(answerOf(question, choicesOf(question)[0], "2.50").answer, "raise 2.50");
});

test("cells that only moved are told together and need no review", () => {
  const cell = (id, kind, before, after) => ({ cell: id, name: "", kind, before, after, review: "open", comment: "" });
  const cells = [cell("a", "edited", "1", "2"), cell("b", "moved", "3", "3"), cell("c", "moved", "4", "4")];
  const rows = rowsOf([{ number: 1, agent: "", is_undone: false, at_ms: null, cells }]);
  assert.deepEqual(
    rows.map((row) => row.kind),
    ["head", "cell", "moved"],
  );
  assert.deepEqual(cells.map(isToReview), [true, false, false]);
});

test("coloured Python is the same text", () => {
  const code = 'def f(x):\n    """Two\n    lines."""\n    return x + 1.5  # why\n\n';
  const text = pythonLines(code)
    .map((line) => line.map((piece) => piece.text).join(""))
    .join("\n");
  assert.equal(text, code);
});

test("many tasks that wait for nothing are drawn in several rows", () => {
  const drawn = layout(
    ["a", "b", "c", "d"].map((id) => task(id)),
    3,
  );
  assert.deepEqual(
    drawn.nodes.map((node) => node.y),
    [0, 0, 80, 80],
  );
});
