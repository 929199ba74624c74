/** A client of Cellwright's HTTP API: `calls` has a function for each operation, `Client` sends what it gives. */

export type { Call, File, Stream } from "./call.ts";
export * as calls from "./calls.ts";
export { API, ApiError, Client, failure } from "./client.ts";
export type { ClientOptions, Following, Outcome, Problem } from "./client.ts";
export type { components } from "./schema.ts";
export { parseBlock } from "./server-event.ts";
export type { ServerEvent } from "./server-event.ts";
