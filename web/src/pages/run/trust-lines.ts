/** What a project brings along, as policy wrote it: our own lines, and blocks of the project's, each line barred. Pure. */

export interface TheirLine {
  text: string;
  kind: "same" | "added" | "removed";
}
export type TrustBlock =
  | { kind: "ours"; text: string; isHead: boolean }
  | { kind: "theirs"; lines: readonly TheirLine[] };

const BAR = "│";
/** A line that was too long goes on behind this. */
const GOES_ON = "┊";

/** Every line, in its order; empty ones between ours only set them apart. */
export function trustBlocks(lines: readonly string[]): TrustBlock[] {
  const blocks: TrustBlock[] = [];
  let theirs: TheirLine[] | null = null;
  let isChanged = false;
  let isDiff = false;
  for (const line of lines) {
    if (line.startsWith(BAR) || line.startsWith(GOES_ON)) {
      if (theirs === null) {
        theirs = [];
        isDiff = isChanged && /^│ @@ -\d/.test(line);
        blocks.push({ kind: "theirs", lines: theirs });
      }
      theirs.push({ text: line, kind: isDiff ? kindOf(line, theirs.at(-1)) : "same" });
    } else {
      theirs = null;
      const isHead = /^(Role|Skill) /.test(line);
      if (isHead) isChanged = false;
      else if (line.startsWith("Changed since ")) isChanged = true;
      if (line !== "") blocks.push({ kind: "ours", text: line, isHead });
    }
  }
  return blocks;
}

function kindOf(line: string, before: TheirLine | undefined): TheirLine["kind"] {
  if (line.startsWith(GOES_ON)) return before?.kind ?? "same";
  return line.startsWith(`${BAR} +`) ? "added" : line.startsWith(`${BAR} -`) ? "removed" : "same";
}
