import { useCallback, useEffect, useRef, useState } from "react";

import { get } from "../api/client";

export interface Fetched<T> {
  value: T | null;
  error: unknown;
  isLoading: boolean;
  /** Ask again; the value stays until there is a new one. */
  refresh: () => void;
  /** Put a value in without asking, e.g. what a change answered. */
  set: (value: T) => void;
}

/** What a path of the API gives. `null`: nothing is asked. Asks again every `everyMs`, if given, while the tab is seen. */
export function useFetched<T>(path: string | null, everyMs?: number): Fetched<T> {
  const [state, setState] = useState<{ path: string | null; value: T | null; error: unknown }>({
    path,
    value: null,
    error: null,
  });
  const asking = useRef<AbortController | null>(null);
  const ask = useCallback(() => {
    asking.current?.abort();
    if (path === null) return;
    const mine = new AbortController();
    asking.current = mine;
    get<T>(path, mine.signal).then(
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
