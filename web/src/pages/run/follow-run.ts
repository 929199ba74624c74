/** A run, followed: its story from the stream, and what only the API can tell (open questions, diffs). */

import { useCallback, useEffect, useRef, useState } from "react";

import { type Call, calls, request } from "../../api/client";
import { follow } from "../../api/stream";
import type { Change, DraftChanges, Recorded, RunDetail } from "../../api/types";
import { type Drafts, NO_DRAFTS, draftsAfter } from "./drafts";
import { type Story, emptyStory, tellAll } from "./story";

/** Events that came within this time are drawn together. */
const TOGETHER_MS = 60;
const SOON_MS = 150;
/** For what may be large. */
export const LARGE_SOON_MS = 400;

export function useStory(run: string): { story: Story; drafts: Drafts; refused: unknown } {
  const [story, setStory] = useState(() => emptyStory(run));
  const [drafts, setDrafts] = useState<Drafts>(NO_DRAFTS);
  const [refused, setRefused] = useState<unknown>(null);
  useEffect(() => {
    let waiting: Recorded[] = [];
    let changes: DraftChanges[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      const events = waiting;
      const drafted = changes;
      waiting = [];
      changes = [];
      timer = undefined;
      setStory((before) => tellAll(before, events));
      setDrafts((before) => drafted.reduce(draftsAfter, before));
    };
    const stop = follow({
      stream: calls.followRun(run),
      onEvent: ({ event, data }) => {
        if (event === "drafts") changes.push(JSON.parse(data) as DraftChanges);
        else waiting.push(JSON.parse(data) as Recorded);
        timer ??= setTimeout(flush, TOGETHER_MS);
      },
      onRefused: setRefused,
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [run]);
  return { story, drafts, refused };
}

/** Fetched again, soon, whenever `mark` changes; at most one request at a time. */
export function useKeptFresh<T>(
  call: Call<T> | null,
  mark: string,
  soonMs = SOON_MS,
): { value: T | null; error: unknown; refresh: () => void } {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<unknown>(null);
  const asked = useRef(call);
  asked.current = call;
  const path = call?.path;
  const isAsking = useRef(false);
  const isWanted = useRef(false);
  const isGone = useRef(false);
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ask = useCallback(async () => {
    if (asked.current === null) return;
    if (isAsking.current) {
      isWanted.current = true;
      return;
    }
    isAsking.current = true;
    try {
      do {
        isWanted.current = false;
        const found = await request(asked.current);
        if (isGone.current) return;
        setValue(found);
        setError(null);
      } while (isWanted.current);
    } catch (problem) {
      if (!isGone.current) setError(problem);
    } finally {
      isAsking.current = false;
    }
  }, [path]);
  useEffect(() => {
    // Not put off by every further change: a busy stream would never be caught up with.
    soon.current ??= setTimeout(() => {
      soon.current = undefined;
      void ask();
    }, soonMs);
  }, [ask, mark, soonMs]);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      clearTimeout(soon.current);
      soon.current = undefined;
    };
  }, []);
  return { value, error, refresh: () => void ask() };
}

export interface FollowedRun {
  run: string;
  story: Story;
  /** Answers that are being made. */
  drafts: Drafts;
  detail: RunDetail | null;
  changes: readonly Change[];
  /** Whether something was undone that a redo brings back. */
  canRedo: boolean;
  error: unknown;
  /** After something was done: ask again what stands. */
  refresh: () => void;
}

export function useRun(run: string): FollowedRun {
  const { story, drafts, refused } = useStory(run);
  const mark = [
    story.openQuestions.join(),
    story.stage,
    story.ended,
    story.delivery?.status,
    story.plan?.tasks.map((task) => task.status + task.taken_by).join(),
    story.handed,
  ].join("|");
  const detail = useKeptFresh(calls.showRun(run), mark);
  const changes = useKeptFresh(calls.listChanges(run), `${story.changes}|${story.ended}`, LARGE_SOON_MS);
  const refresh = useRef(() => undefined as void);
  refresh.current = () => {
    detail.refresh();
    changes.refresh();
  };
  return {
    run,
    story,
    drafts,
    detail: detail.value,
    changes: changes.value?.changes ?? NO_CHANGES,
    canRedo: changes.value?.can_redo ?? false,
    error: refused ?? (detail.value === null ? detail.error : null),
    refresh: useCallback(() => refresh.current(), []),
  };
}

const NO_CHANGES: readonly Change[] = [];
