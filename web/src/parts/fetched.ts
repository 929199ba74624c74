import { useCallback, useEffect, useRef, useState } from "react";

import { type Call, request } from "../api/client";

export interface Fetched<T> {
  value: T | null;
  error: unknown;
  isLoading: boolean;
  /** Ask again; the value stays until there is a new one. */
  refresh: () => void;
  /** Put a value in without asking, e.g. what a change answered. */
  set: (value: T) => void;
}

/** What a call that only reads gives. `null`: nothing is asked. Asks again every `everyMs`, if given, while the tab is seen. */
export function useFetched<T>(call: Call<T> | null, everyMs?: number): Fetched<T> {
  const path = call?.path ?? null;
  // Made anew with each drawing: its path says whether it is the same.
  const wanted = useRef(call);
  wanted.current = call;
  const [state, setState] = useState<{ path: string | null; value: T | null; error: unknown }>({
    path,
    value: null,
    error: null,
  });
  const asking = useRef<AbortController | null>(null);
  const ask = useCallback(() => {
    asking.current?.abort();
    if (wanted.current === null) return;
    const mine = new AbortController();
    asking.current = mine;
    request(wanted.current, mine.signal).then(
      (value) => mine.signal.aborted || setState({ path, value, error: null }),
      (error: unknown) =>
        mine.signal.aborted ||
        setState((before) => ({ path, value: before.path === path ? before.value : null, error })),
    );
  }, [path]);
  useEffect(() => {
    ask();
    const timer =
      everyMs === undefined ? undefined : setInterval(() => document.visibilityState === "visible" && ask(), everyMs);
    return () => {
      asking.current?.abort();
      clearInterval(timer);
    };
  }, [ask, everyMs]);
  const set = useCallback((value: T) => setState({ path, value, error: null }), [path]);
  const mine = state.path === path ? state : { value: null, error: null };
  return {
    value: mine.value,
    error: mine.error,
    isLoading: path !== null && mine.value === null && mine.error === null,
    refresh: ask,
    set,
  };
}
