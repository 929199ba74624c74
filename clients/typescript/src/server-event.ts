/** One event as it comes over the wire. Pure. */

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** The event of one block of lines; null for a heartbeat. */
export function parseBlock(block: string): ServerEvent | null {
  const event: ServerEvent = { id: "", event: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") event.id = value;
    else if (name === "event") event.event = value;
  }
  return data.length === 0 ? null : { ...event, data: data.join("\n") };
}
