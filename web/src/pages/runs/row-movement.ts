/** How one moves through the list of runs. */

import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useKeys } from "../../parts";
import { useRunList } from "./list-state";

/** j and k move the focus itself, so that Enter and a screen reader follow. */
export function useRowKeys(show: (at: number) => void, box: RefObject<HTMLDivElement | null>): void {
  const [, go] = useLocation();
  const focus = useCallback(
    (at: number) => {
      const { runs } = useRunList.getState();
      const bounded = Math.max(0, Math.min(runs.length - 1, at));
      const run = runs[bounded]?.run;
      if (run === undefined) return;
      useRunList.setState({ at: run });
      show(bounded);
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(run)}"]`)?.focus());
    },
    [show, box],
  );
  const present = () => useRunList.getState().runs.findIndex((run) => run.run === useRunList.getState().at);
  const open = (path: (run: string) => string) => {
    const run = useRunList.getState().at;
    if (run !== null) go(path(run));
  };
  useKeys("Runs", [
    { keys: "j", does: "Next run", act: () => focus(present() + 1) },
    { keys: "k", does: "Run before", act: () => focus(Math.max(0, present()) - 1) },
    { keys: "Enter", does: "Everything about it", act: () => open((run) => `/runs/${run}/detail`) },
    { keys: "o", does: "Open its notebook", act: () => open((run) => `/runs/${run}`) },
  ]);
  useEffect(() => {
    // Back from one run: the keyboard is where it was.
    const at = present();
    if (at >= 0) focus(at);
  }, []);
}

/** Another question begins at its first answer. */
export function useFromTheTop(box: RefObject<HTMLDivElement | null>, asked: string): void {
  const before = useRef(asked);
  useEffect(() => {
    if (before.current !== asked) box.current?.scrollTo(0, 0);
    before.current = asked;
  }, [asked, box]);
}

/** The time, by the second while something goes on. */
export function useNow(isTicking: boolean): number {
  const [nowMs, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return nowMs;
}

const NARROW = matchMedia("(max-width: 720px)");

export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const onChange = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", onChange);
    return () => NARROW.removeEventListener("change", onChange);
  }, []);
  return isNarrow;
}
