import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { emptyStory, tellAll } from "../node_modules/.tests/units.js";

const RUN = "06b10ab1096635e8";
const events = readFileSync(new URL("agent-run.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

test("a recorded run adds up to its goal, plan, cost and delivery", () => {
  const story = tellAll(emptyStory(RUN), events);
  assert.equal(story.goal.words, "Sum.");
  assert.deepEqual(
    story.plan.tasks.map((task) => [task.id, task.status, task.note]),
    [
      ["sum", "done", "45"],
      ["tell-the-story", "done", "They sum to 45."],
    ],
  );
  assert.equal(story.delivery.answer, "They sum to 45.");
  assert.equal(story.stage, "over");
  assert.equal(story.ended, "done");
  assert.equal(story.tokens, 60);
  assert.deepEqual(story.openQuestions, []);
});

test("the same story is told whether events come at once, one by one, or doubled", () => {
  const whole = tellAll(emptyStory(RUN), events);
  const single = events.reduce((story, event) => tellAll(story, [event]), emptyStory(RUN));
  const doubled = tellAll(tellAll(emptyStory(RUN), events.slice(0, 70)), events);
  assert.deepEqual(single, whole);
  assert.deepEqual(doubled, whole);
});

test("telling more leaves what was told before as it was", () => {
  const before = tellAll(emptyStory(RUN), events.slice(0, 40));
  const copy = structuredClone(before);
  tellAll(before, events.slice(40));
  assert.deepEqual(before, copy);
});

test("an edit is told once, as it stands, and the run of its code not again", () => {
  const story = tellAll(emptyStory(RUN), events);
  const actions = story.entries.filter((entry) => entry.body.kind === "action");
  assert.deepEqual(
    actions.map(({ body }) => [body.audit.action_kind, body.audit.result]),
    [
      ["edit-cells", "done"],
      ["edit-cells", "done"],
    ],
  );
  assert.equal(story.roles[`${RUN}/agent:3`], "writer");
});

test("a question is open until it is answered, and then says what was answered", () => {
  const asked = tellAll(emptyStory(RUN), events.slice(0, 39));
  assert.deepEqual(asked.openQuestions, [`${RUN}/agent:2#6`]);
  const answered = tellAll(asked, events.slice(39, 40));
  assert.deepEqual(answered.openQuestions, []);
  const entry = answered.entries.find(({ body }) => body.kind === "question");
  assert.deepEqual([entry.body.answer, entry.body.by], ["all of them", "b"]);
});

test("ten thousand events, in batches as they come, are all there in the end", () => {
  const many = Array.from({ length: 10_000 }, (_, at) => ({
    ...events[12],
    sequence: at + 1,
    kind: "fact",
    event: { topic: "says", subject: `${RUN}/agent:${at % 7}`, text: `Step ${at}`, numbers: {} },
  }));
  let story = emptyStory(RUN);
  for (let at = 0; at < many.length; at += 200) story = tellAll(story, many.slice(at, at + 200));
  assert.equal(story.last, 10_000);
  assert.equal(story.entries.length, 10_000);
});
