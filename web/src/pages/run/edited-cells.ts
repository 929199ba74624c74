/** The cells of an edit, read from what policy was shown of it. Pure. */

export interface EditedCell {
  cell: string;
  name: string;
  /** Of a unified diff. */
  lines: string[];
}

const HEAD = /^--- (?:(.*) )?\(?([^\s()]+)\)? before$/;

export function editedCells(what: string): EditedCell[] {
  const cells: EditedCell[] = [];
  let isAfterHead = false;
  for (const line of what.split("\n").slice(1)) {
    const head = HEAD.exec(line);
    if (head !== null) {
      cells.push({ cell: head[2] ?? "", name: head[1] ?? "", lines: [] });
      isAfterHead = true;
    } else if (isAfterHead && line.startsWith("+++ ")) isAfterHead = false;
    else cells.at(-1)?.lines.push(line);
  }
  return cells;
}
