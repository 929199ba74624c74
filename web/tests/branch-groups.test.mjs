import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyStory, fateOf, groupsOf, layoutOf, sidesOf, tellAll, wayWords } from "../node_modules/.tests/units.js";

const tried = (branch, group = "") => ({ branch, group });
const names = (groups) => groups.map(({ members }) => members.map(({ branch }) => branch));

test("branches tried side by side are one group, the newest group first", () => {
  const told = [tried("1"), tried("2.1", "2"), tried("3"), tried("2.2", "2"), tried("2")];
  assert.deepEqual(names(groupsOf(told)), [["2"], ["3"], ["2.1", "2.2"], ["1"]]);
  assert.deepEqual(groupsOf([]), []);
});

test("lines of before and after that belong together stand beside each other under their column", () => {
  const sales = { before: "9 rows × 2 columns\nprice: nulls 3", after: "8 rows × 2 columns\nprice: nulls 0" };
  assert.deepEqual(sidesOf(sales), [
    { of: "", before: "9 rows × 2 columns", after: "8 rows × 2 columns" },
    { of: "price", before: "nulls 3", after: "nulls 0" },
  ]);
});

test("texts that do not fit line by line stay whole", () => {
  const grown = { before: "[1]", after: "a: [1]\nb: [2]" };
  assert.deepEqual(sidesOf(grown), [{ of: "", ...grown }]);
  assert.deepEqual(sidesOf({ before: "", after: "new" }), [{ of: "", before: "", after: "new" }]);
  assert.deepEqual(sidesOf({ before: "a: 1", after: "b: 2" }), [{ of: "", before: "a: 1", after: "b: 2" }]);
});

test("every way a branch can be made has words, also one nobody knows yet", () => {
  assert.equal(wayWords("fork"), "a fork of the kernel");
  assert.equal(wayWords("teleported"), "teleported");
});

test("a run that tried nothing has no view of branches, one that did has it, wide or narrow", () => {
  const seen = { hasReport: false, isRead: false, left: null, right: null };
  for (const isWide of [true, false]) {
    assert.equal(layoutOf({ ...seen, isWide, hasBranches: false }).left.includes("branches"), false);
    assert.equal(layoutOf({ ...seen, isWide, hasBranches: true }).left.includes("branches"), true);
    const read = { ...seen, isWide, hasReport: true, isRead: true, hasBranches: true, left: "branches" };
    assert.equal(layoutOf(read).shownLeft, "branches");
  }
});

test("a story counts the branches it is told of, and gives them no line of their own", () => {
  const event = { topic: "branch-tried", subject: "call-1", text: "{}", numbers: {} };
  const recorded = { stream: "r", sequence: 1, at_ms: 1, kind: "fact", key: "", event, link: "" };
  const story = tellAll(emptyStory("r"), [recorded]);
  assert.deepEqual([story.branches, story.entries], [1, []]);
});

test("a branch says what became of it, or that somebody has to say", () => {
  const fates = [
    ["waits", false, "", "waits for you"],
    ["accepted", true, "ada", "✓ accepted by ada"],
    ["accepted", false, "ada", "accepted by ada, not in the notebook"],
    ["dropped", false, "ada", "dropped by ada"],
    ["kept", true, "", "✓ kept"],
    ["not-kept", false, "", "not kept"],
  ];
  for (const [state, is_kept, decided_by, words] of fates) assert.equal(fateOf({ state, is_kept, decided_by }), words);
});
