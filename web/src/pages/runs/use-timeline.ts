import { useEffect, useState } from "react";

import { type Call, calls, request } from "../../api/client";
import { follow } from "../../api/stream";
import type { Recorded, Timeline as Page } from "../../api/types";
import { type Timeline, emptyTimeline, extend } from "./timeline";

const PAGE = 1_000;
const TOGETHER_MS = 120;

export interface Told {
  timeline: Timeline;
  /** Whether everything that had been told when it was opened is there. */
  isWhole: boolean;
  error: unknown;
}

/** What a run has told: everything so far, page by page, and then as it comes while it is live. */
export function useTimeline(run: string, isLive: boolean): Told {
  const [told, setTold] = useState<Told>({ timeline: emptyTimeline(run), isWhole: false, error: null });
  const last = told.timeline.last;
  useEffect(() => {
    const over = new AbortController();
    readAll(run, over.signal, (events) => setTold((before) => ({ ...before, timeline: extend(before.timeline, events) }))).then(
      () => setTold((before) => ({ ...before, isWhole: true, error: null })),
      (error: unknown) => over.signal.aborted || setTold((before) => ({ ...before, error })),
    );
    return () => over.abort();
  }, [run, isLive]);
  const isFollowing = isLive && told.isWhole;
  useEffect(() => {
    if (!isFollowing) return;
    return followBatched(run, last, (events) => setTold((before) => ({ ...before, timeline: extend(before.timeline, events) })));
    // `last` only says where to begin.
  }, [run, isFollowing]);
  return told;
}

async function readAll(run: string, over: AbortSignal, onEvents: (events: Recorded[]) => void): Promise<void> {
  let after = 0;
  for (;;) {
    // Of a recorded event the document only says that it is one.
    const asked: Call<unknown> = calls.readTimeline(run, { after, limit: PAGE });
    const page = (await request(asked, over)) as Page;
    onEvents(page.events);
    after = page.last;
    if (page.events.length < PAGE) return;
  }
}

/** Events come in bursts; the page draws a burst once. */
function followBatched(run: string, after: number, onEvents: (events: Recorded[]) => void): () => void {
  let waiting: Recorded[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    onEvents(waiting);
    waiting = [];
  };
  const stop = follow({
    stream: calls.followRun(run),
    after: String(after),
    onEvent: ({ data }) => {
      waiting.push(JSON.parse(data) as Recorded);
      timer ??= setTimeout(flush, TOGETHER_MS);
    },
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
