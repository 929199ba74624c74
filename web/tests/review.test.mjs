import assert from "node:assert/strict";
import { test } from "node:test";

import { countWords, emptyStory, failingOf, inOrder, shownWords, tellAll } from "../node_modules/.tests/units.js";

const FINDING = { claim: "The total is 580.", found: "It is 290.", shows: "assert total == 290", by: "reviewer", kind: "" };

function judged(sequence, number, standing, more = {}) {
  const event = { number, judged: { finding: FINDING, standing, error: "", ...more }, task: more.task ?? "" };
  return { stream: "run:r", sequence, at_ms: sequence, kind: "finding-judged", key: "", event, link: "" };
}

function raised(sequence, questions) {
  return { stream: "run:r", sequence, at_ms: sequence, kind: "questions-raised", key: "", event: { questions }, link: "" };
}

test("the last word about each finding counts, and only what changed is told again", () => {
  const story = tellAll(emptyStory("r"), [
    judged(1, 1, "shown", { error: "AssertionError" }),
    judged(2, 2, "not shown"),
    judged(3, 1, "shown", { task: "mend" }),
    judged(4, 1, "mended", { task: "mend" }),
  ]);
  assert.deepEqual(
    Object.values(story.findings).map((each) => [each.number, each.standing, each.task]),
    [
      [1, "mended", "mend"],
      [2, "not shown", ""],
    ],
  );
  assert.deepEqual(
    story.entries.map(({ body }) => [body.finding.number, body.finding.standing]),
    [
      [1, "shown"],
      [2, "not shown"],
      [1, "mended"],
    ],
  );
});

test("what the data raises is kept, and told only as far as it is open", () => {
  const open = { kind: "total-rows", says: "Rows of totals.", settled: "" };
  const settled = { kind: "sentinel", says: "A sentinel.", settled: "cell clean" };
  const story = tellAll(emptyStory("r"), [raised(1, [settled]), raised(2, [open, settled])]);
  assert.deepEqual(story.dataQuestions, [open, settled]);
  assert.deepEqual(
    story.entries.map(({ body }) => body.text),
    ["The data raises: Rows of totals."],
  );
});

test("what still fails comes first and is counted so", () => {
  const of = (number, standing) => ({ number, ...FINDING, standing, error: "", task: "" });
  const found = [of(1, "not shown"), of(2, "mended"), of(3, "shown"), of(4, "shown")];
  assert.deepEqual(
    inOrder(found).map((each) => each.number),
    [3, 4, 2, 1],
  );
  assert.equal(countWords(found, true), "2 still fail · 1 mended · 1 that nothing shows");
  assert.equal(countWords([of(3, "shown")], false), "1 fails");
  assert.equal(countWords([], true), "");
});

test("what fails is told once, apart from what else is wrong", () => {
  const told = "The total is 580. It is 290. (AssertionError: no)";
  const delivery = {
    why: `${told}; Out of budget.`,
    problems: [told, "No test."],
    reviewed: [
      { finding: FINDING, standing: "shown", error: "AssertionError: no" },
      { finding: FINDING, standing: "mended", error: "" },
    ],
  };
  assert.deepEqual(failingOf(delivery), {
    fails: [{ says: "The total is 580. It is 290.", error: "AssertionError: no" }],
    why: "Out of budget.",
    problems: ["No test."],
  });
  assert.equal(failingOf({ ...delivery, why: told }).why, "");
  assert.deepEqual(failingOf({ why: "a; ; b", problems: ["c"], reviewed: [] }), { fails: [], why: "a; ; b", problems: ["c"] });
});

test("what came of a finding's code is said in words", () => {
  assert.equal(shownWords({ standing: "shown", error: "E", seconds: 1.26 }), "It fails in the notebook as it is now · 1.3 s");
  assert.match(shownWords({ standing: "not shown", error: "NameError", seconds: 1 }), /could not be tried/);
});
