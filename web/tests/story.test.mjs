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
    kind: "agent-spoke",
    event: { workflow: `${RUN}/agent:${at % 7}`, text: `Step ${at}` },
  }));
  let story = emptyStory(RUN);
  for (let at = 0; at < many.length; at += 200) story = tellAll(story, many.slice(at, at + 200));
  assert.equal(story.last, 10_000);
  assert.equal(story.entries.length, 10_000);
});

const more = (story, ...told) =>
  tellAll(
    story,
    told.map(([kind, event], at) => ({ ...events[0], sequence: story.last + 1 + at, kind, event })),
  );
const said = (kind, reason = "") => [kind, { by: "ada", reason }];

test("what a person wants of a run stands until the run has come to it or goes on", () => {
  const begun = tellAll(emptyStory(RUN), events.slice(0, 12));
  const pausing = more(begun, said("pause-asked"));
  assert.equal(pausing.wanted, "pause");
  assert.equal(more(pausing, ["run-recovered", { workflow: RUN, attempt: 2 }]).wanted, "pause");
  assert.equal(more(pausing, said("unpause-asked")).wanted, "");
  assert.equal(more(pausing, said("stop-asked", "Enough.")).wanted, "stop");
  assert.equal(more(pausing, said("stop-asked"), said("pause-asked")).wanted, "stop");
  const ended = more(pausing, ["run-ended", { workflow: RUN, outcome: "cancelled", error: "" }]);
  assert.equal(ended.wanted, "");
});

test("a thought in which its agent or the run ended is not thought any more", () => {
  const thinking = tellAll(emptyStory(RUN), events.slice(0, 12));
  const thought = (story) => story.entries.find(({ body }) => body.kind === "thought").body;
  assert.deepEqual([thought(thinking).milliseconds, thought(thinking).isCut], [null, false]);
  for (const workflow of [RUN, `${RUN}/agent:1`]) {
    const cut = more(thinking, ["run-ended", { workflow, outcome: "cancelled", error: "" }]);
    assert.equal(thought(cut).isCut, true);
    const again = more(cut, ["step-started", events[11].event]);
    assert.equal(thought(again).isCut, false);
  }
  const other = more(thinking, ["run-ended", { workflow: `${RUN}/agent:9`, outcome: "cancelled", error: "" }]);
  assert.equal(thought(other).isCut, false);
});

test("the cap is what it was raised to, and a raise of another limit is not the run's", () => {
  const goal = { ...events[1].event.goal, budget_usd: "0.10" };
  const capped = more(emptyStory(RUN), ["goal-set", { goal }]);
  const raise = (limit) => [
    ["question-asked", { workflow: RUN, question: "q", topic: "budget", text: `Use more than ${limit}: r would stand at 1.` }],
    ["question-answered", { question: "q", answer: '{"question":"q","reply":{"says":"raise","more":"0.2"}}', by: "ada" }],
  ];
  assert.equal(capped.capUsd, 0.1);
  const raised = more(capped, ...raise("0.10 USD per run (--budget)"));
  assert.equal(raised.capUsd, 0.3);
  assert.equal(raised.entries.at(-1).body.answer, "raise, 0.2");
  assert.equal(more(raised, ...raise("0.30 USD per run (raised by ada)")).capUsd, 0.5);
  for (const limit of ["5 USD per run (rules.toml:3)", "0.10 USD per run and day (rules.toml:3)", "9 tokens per run (x)"])
    assert.equal(more(capped, ...raise(limit)).capUsd, 0.1);
});
