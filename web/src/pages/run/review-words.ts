/** What a review found, in order and in words. Pure. */

import type { FindingStanding, RunFinding, ShownFinding } from "../../api/types";

const ORDER: Record<FindingStanding, number> = { shown: 0, mended: 1, "not shown": 2 };

/** What still fails comes first, what nothing shows last. */
export function inOrder(findings: readonly RunFinding[]): RunFinding[] {
  return findings.toSorted((one, other) => ORDER[one.standing] - ORDER[other.standing] || one.number - other.number);
}

export function standingWord(standing: FindingStanding, isOver: boolean): string {
  switch (standing) {
    case "shown":
      return isOver ? "Still fails" : "Fails";
    case "mended":
      return "Mended";
    case "not shown":
      return "Nothing shows it";
  }
}

/** How many of each, beside the title. */
export function countWords(findings: readonly RunFinding[], isOver: boolean): string {
  const count = (standing: FindingStanding) => findings.filter((each) => each.standing === standing).length;
  const fail = count("shown") === 1 ? "fails" : "fail";
  const words: [number, string][] = [
    [count("shown"), isOver ? `still ${fail}` : fail],
    [count("mended"), "mended"],
    [count("not shown"), "that nothing shows"],
  ];
  return words
    .filter(([many]) => many > 0)
    .map(([many, what]) => `${many} ${what}`)
    .join(" · ");
}

/** What came of its code just now. */
export function shownWords({ standing, error, seconds }: ShownFinding): string {
  const took = `${seconds.toFixed(1)} s`;
  switch (standing) {
    case "shown":
      return `It fails in the notebook as it is now · ${took}`;
    case "mended":
      return `It holds in the notebook as it is now · ${took}`;
    case "not shown":
      return error === "" ? `It does not fail · ${took}` : `It could not be tried in the notebook as it is now · ${took}`;
  }
}
