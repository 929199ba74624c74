import assert from "node:assert/strict";
import { test } from "node:test";

import { NO_DRAFTS, draftsAfter, emptyStory, tellAll, unrecorded } from "../node_modules/.tests/units.js";

const AGENT = "r/agent:1";
const words = (at, text, section = 0) => ({ section, kind: "words", call: 0, title: "", at, text });
const code = (at, text, section = 1) => ({ section, kind: "code", call: 1, title: "total", at, text });
const changes = (sections, more = {}) => ({
  is_first: false,
  drafts: [{ agent: AGENT, step: 2, draft: "a", is_done: false, sections }],
  over: [],
  ...more,
});
const texts = (drafts) => drafts[AGENT].sections.map(({ text }) => text);

test("pieces are added at their place, whichever characters stand before", () => {
  const begun = draftsAfter(NO_DRAFTS, changes([words(0, "😀 one ")], { is_first: true }));
  const grown = draftsAfter(begun, changes([words(6, "two"), code(0, "x = 1")]));
  assert.deepEqual(texts(grown), ["😀 one two", "x = 1"]);
});

test("a piece told twice shows nothing twice, one after a gap shows no gap", () => {
  const begun = draftsAfter(NO_DRAFTS, changes([words(0, "one ")]));
  const grown = draftsAfter(begun, changes([words(4, "two ")]));
  assert.deepEqual(texts(draftsAfter(grown, changes([words(4, "two ")]))), ["one two "]);
  assert.deepEqual(texts(draftsAfter(begun, changes([words(8, "three")]))), ["one "]);
  assert.deepEqual(texts(draftsAfter(begun, changes([code(0, "x", 2)]))), ["one "]);
});

test("what turned out to be a secret is taken back", () => {
  const begun = draftsAfter(NO_DRAFTS, changes([words(0, "it is corr")]));
  assert.deepEqual(texts(draftsAfter(begun, changes([words(6, "[masked PHRASE]")]))), ["it is [masked PHRASE]"]);
});

test("another attempt begins anew", () => {
  const begun = draftsAfter(NO_DRAFTS, changes([words(0, "one")]));
  const again = changes([words(0, "two")]);
  again.drafts[0].draft = "b";
  assert.deepEqual(texts(draftsAfter(begun, again)), ["two"]);
});

test("whoever comes back has what there is now and nothing else", () => {
  const begun = draftsAfter(NO_DRAFTS, changes([words(0, "one")]));
  assert.deepEqual(texts(draftsAfter(begun, changes([words(0, "one two")], { is_first: true }))), ["one two"]);
  assert.deepEqual(draftsAfter(begun, { is_first: true, drafts: [], over: [] }), {});
  assert.deepEqual(draftsAfter(begun, { is_first: false, drafts: [], over: [AGENT] }), {});
});

test("words and code are shown until their record is, and in no moment both or neither", () => {
  const draft = draftsAfter(NO_DRAFTS, changes([words(0, "I sum."), code(0, "x = 1")]))[AGENT];
  let story = emptyStory("r");
  const seen = [];
  const told = [
    ["step-started", { workflow: AGENT, step: 7, name: "think 2" }],
    ["step-finished", { workflow: AGENT, step: 7, name: "think 2", milliseconds: 5, effect: "" }],
    ["prompt-stored", { call: `${AGENT}#2`, prompt: "p", tokens: 3 }],
    ["agent-spoke", { workflow: AGENT, text: "I sum." }],
    ["step-started", { workflow: AGENT, step: 9, name: "tool apply" }],
    ["step-started", { workflow: AGENT, step: 12, name: "think 3" }],
  ];
  for (const [at, [kind, event]] of told.entries()) {
    story = tellAll(story, [{ stream: "run:r", sequence: at + 1, at_ms: 1, key: "", link: "", kind, event }]);
    const says = story.entries.find(({ body }) => body.kind === "thought").body.says;
    seen.push([says, ...unrecorded(draft, story.steps[AGENT]).map(({ text }) => text)]);
  }
  assert.deepEqual(seen, [
    ["", "I sum.", "x = 1"],
    ["", "I sum.", "x = 1"],
    ["", "I sum.", "x = 1"],
    ["I sum.", "x = 1"],
    ["I sum."],
    ["I sum."],
  ]);
});
