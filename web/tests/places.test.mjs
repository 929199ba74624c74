import assert from "node:assert/strict";
import { test } from "node:test";

import { amounts, cost, layoutOf } from "../node_modules/.tests/units.js";

const nothingChosen = { left: null, right: null };

test("a run that is watched stands beside its notebook, and gains a report when it is delivered", () => {
  const watched = { isWide: true, hasReport: false, isRead: false, ...nothingChosen };
  assert.deepEqual(layoutOf(watched), {
    left: ["activity", "plan", "changes", "result"],
    right: ["notebook"],
    shownLeft: "activity",
    shownRight: "notebook",
  });
  assert.deepEqual(layoutOf({ ...watched, hasReport: true }), {
    left: ["activity", "plan", "changes", "result"],
    right: ["report", "notebook"],
    shownLeft: "activity",
    shownRight: "report",
  });
});

test("a run that is read has its answer and its report first, wide or narrow", () => {
  const read = { isWide: true, hasReport: true, isRead: true, ...nothingChosen };
  const wide = layoutOf(read);
  assert.deepEqual([wide.shownLeft, wide.right], ["result", ["report", "notebook", "changes"]]);
  assert.equal(wide.left.includes("changes"), false);
  const narrow = layoutOf({ ...read, isWide: false });
  assert.deepEqual([narrow.shownLeft, narrow.left.slice(0, 3)], ["report", ["report", "notebook", "changes"]]);
  assert.equal(layoutOf({ ...read, isWide: false, hasReport: false }).shownLeft, "result");
});

test("a choice counts as long as there is such a view", () => {
  const read = { isWide: true, hasReport: true, isRead: true, left: "plan", right: "notebook" };
  assert.deepEqual([layoutOf(read).shownLeft, layoutOf(read).shownRight], ["plan", "notebook"]);
  assert.equal(layoutOf({ ...read, left: "changes" }).shownLeft, "result");
  assert.equal(layoutOf({ ...read, right: "report", hasReport: false }).shownRight, "notebook");
});

test("the amounts of an axis are exact, and cents are written as cents", () => {
  assert.deepEqual(amounts([0, 0.25, 0.5]), ["$0.00", "$0.25", "$0.50"]);
  assert.deepEqual(amounts([0, 2.5, 5]), ["$0.00", "$2.50", "$5.00"]);
  assert.deepEqual(amounts([0, 1000, 2000]), ["$0", "$1,000", "$2,000"]);
  assert.deepEqual(amounts([0, 0.002, 0.004]), ["$0.000", "$0.002", "$0.004"]);
  assert.deepEqual(amounts([0, 0.1 * 3]), ["$0.00", "$0.30"]);
});

test("a price nobody knows is never 0", () => {
  assert.deepEqual([cost(0, 0), cost(0, 10), cost(2_500_000, 10)], ["$0.00", "unknown", "$2.50 +"]);
});
