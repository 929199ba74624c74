/** Answers of models while they are made, and what of them is still to be shown beside the record. Pure. */

import type { DraftChanges, DraftPiece } from "../../api/types";
import type { RecordedSteps } from "./story";

export interface DraftSection {
  kind: DraftPiece["kind"];
  /** Of which call of the answer; 0: said beside the calls. */
  call: number;
  title: string;
  text: string;
}

export interface Draft {
  agent: string;
  step: number;
  draft: string;
  sections: readonly DraftSection[];
}

/** By agent. */
export type Drafts = Readonly<Record<string, Draft>>;

export const NO_DRAFTS: Drafts = {};

/** The drafts after these changes. A piece that was told before changes nothing; one after a gap is left out. */
export function draftsAfter(before: Drafts, changes: DraftChanges): Drafts {
  const drafts: Record<string, Draft> = changes.is_first ? {} : { ...before };
  for (const agent of changes.over) delete drafts[agent];
  for (const { agent, step, draft, sections } of changes.drafts) {
    // The first of a connection tells everything: what is known of the same draft is only written over.
    const known = before[agent]?.draft === draft ? before[agent].sections : [];
    drafts[agent] = { agent, step, draft, sections: sections.reduce(withPiece, known) };
  }
  return drafts;
}

function withPiece(sections: readonly DraftSection[], piece: DraftPiece): readonly DraftSection[] {
  if (piece.section > sections.length) return sections;
  // Characters as the server counts them: one outside the basic plane is one, not two.
  const before = Array.from(sections[piece.section]?.text ?? "");
  if (piece.at > before.length) return sections;
  const { kind, call, title } = piece;
  const grown = { kind, call, title, text: before.slice(0, piece.at).join("") + piece.text };
  return sections.toSpliced(piece.section, 1, grown);
}

const NO_STEPS: RecordedSteps = { begun: 0, answered: 0, spoken: 0, acted: 0 };

/** What is not recorded yet: words until they are told as the answer's, code until something is done with it. */
export function unrecorded(draft: Draft, steps: RecordedSteps | undefined): readonly DraftSection[] {
  const { begun, spoken, acted } = steps ?? NO_STEPS;
  if (begun > draft.step) return [];
  return draft.sections.filter((section) => (section.call === 0 ? spoken : acted) < draft.step);
}
