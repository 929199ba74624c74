// Frames of `acpx --format json`, as JSON lines on stdin, against the schema of the TypeScript SDK: `SCHEMA.js`.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const schema = await import(pathToFileURL(process.argv[2]).href);
const RESULTS = {
  initialize: schema.zInitializeResponse,
  "session/new": schema.zNewSessionResponse,
  "session/load": schema.zLoadSessionResponse,
  "session/prompt": schema.zPromptResponse,
  "session/list": schema.zListSessionsResponse,
};
const asked = new Map();
const counts = { updates: 0, results: 0, wrong: [] };
for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line);
  const isOurs = frame.method === undefined;
  const kind = isOurs ? RESULTS[asked.get(frame.id)] : { "session/update": schema.zSessionNotification, "session/request_permission": schema.zRequestPermissionRequest }[frame.method];
  if (!isOurs && frame.id !== undefined) asked.set(frame.id, frame.method);
  if (kind === undefined) continue;
  const read = kind.safeParse(isOurs ? frame.result : frame.params);
  counts[isOurs ? "results" : "updates"] += 1;
  if (!read.success) counts.wrong.push({ line: line.slice(0, 300), why: read.error.message });
}
console.log(JSON.stringify(counts));
