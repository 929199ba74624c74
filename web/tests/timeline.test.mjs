import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyTimeline, extend } from "../node_modules/.tests/units.js";

const extracted = (sequence, more) => ({
  stream: "run:r",
  sequence,
  at_ms: sequence,
  kind: "document-extracted",
  key: "",
  event: { document: "a.pdf", number: sequence, of: 3, rows: 2, marked: 0, skipped: "", microdollars: 0, ...more },
});

test("each document of an extraction is told with what it cost", () => {
  const events = [
    extracted(1, { microdollars: 12_300 }),
    extracted(2, { rows: 0, skipped: "no answer", microdollars: 50 }),
    extracted(3, {}),
  ];
  const told = extend(emptyTimeline("r"), events);
  assert.deepEqual(
    told.lines.map((line) => [line.what, line.detail]),
    [
      ["Document 1 of 3", "a.pdf: 2 rows, $0.0123"],
      ["Document 2 of 3", "a.pdf: skipped, no answer, <$0.0001"],
      ["Document 3 of 3", "a.pdf: 2 rows"],
    ],
  );
});
