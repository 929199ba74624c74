/** What the tests without a browser look at. */

export { parseBlock } from "cellwright-client";
export { countRows, diffRows, unifiedRows } from "../src/parts/diff-lines";
export { failingOf } from "../src/parts/failing";
export { pythonLines } from "../src/parts/python";
export { sqlLines, sqlTokens } from "../src/parts/sql-lines";
export { NO_VALUES, bodyOf, mistakeIn } from "../src/pages/connections/form-values";
export { contentOf, filePlace, splitPlace, stepsTo } from "../src/pages/connections/places";
export { fileSnippets, requestSnippet } from "../src/pages/connections/snippets";
export { amountWords, groupsOfSent, kindOfSent, sentLine } from "../src/parts/sent-words";
export { ageOf, amounts, cost } from "../src/parts/words";
export { isToReview, rowsOf } from "../src/pages/run/change-rows";
export { editedCells } from "../src/pages/run/edited-cells";
export { layout } from "../src/pages/run/graph-layout";
export { fateOf, groupsOf, sidesOf, wayWords } from "../src/pages/run/branch-groups";
export { layoutOf } from "../src/pages/run/places";
export { answerOf, choicesOf } from "../src/pages/run/question-choices";
export { NO_DRAFTS, draftsAfter, unrecorded } from "../src/pages/run/drafts";
export { trustBlocks } from "../src/pages/run/trust-lines";
export { countWords, inOrder, shownWords } from "../src/pages/run/review-words";
export { emptyStory, tellAll } from "../src/pages/run/story";
export { emptyTimeline, extend } from "../src/pages/runs/timeline";
