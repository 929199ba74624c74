/** Events as the server sends them (SSE), over fetch so that the token goes in a header. Reconnects by itself. */

import { ApiError, type ServerEvent, type Stream } from "cellwright-client";
import { read } from "./client";

export type { ServerEvent } from "cellwright-client";

export type Connection = "connecting" | "live" | "offline";

export interface StreamOptions {
  stream: Stream;
  /** Where to go on; the server sends what comes after it. */
  after?: string;
  onEvent: (event: ServerEvent) => void;
  onConnection?: (connection: Connection) => void;
  /** The stream is refused for good (no such run, no right to see it). */
  onRefused?: (error: ApiError) => void;
}

const SHORTEST_MS = 400;
const LONGEST_MS = 8_000;

/** Follow a stream until the function that is given back is called. */
export function follow(options: StreamOptions): () => void {
  const over = new AbortController();
  void keepFollowing(options, over.signal);
  return () => over.abort();
}

async function keepFollowing(options: StreamOptions, over: AbortSignal): Promise<void> {
  let last = options.after ?? "";
  let waitMs = SHORTEST_MS;
  while (!over.aborted) {
    options.onConnection?.("connecting");
    try {
      for await (const event of read(options.stream, { last, signal: over, onOpen: () => options.onConnection?.("live") })) {
        waitMs = SHORTEST_MS;
        if (event.id !== "") last = event.id;
        options.onEvent(event);
      }
    } catch (error) {
      if (over.aborted) return;
      if (error instanceof ApiError && [400, 401, 403, 404, 409].includes(error.status)) {
        options.onRefused?.(error);
        return;
      }
      options.onConnection?.("offline");
    }
    // Ended in good order, e.g. because the run is over: it is looked after again, without an alarm.
    if (over.aborted) return;
    await pause(waitMs, over);
    waitMs = Math.min(LONGEST_MS, waitMs * 2);
  }
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      window.removeEventListener("online", stop);
      over.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    window.addEventListener("online", stop);
    over.addEventListener("abort", stop);
  });
}
