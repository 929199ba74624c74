/** Keys of the page. Every binding is listed by `?`; none fires while somebody types. */

import { useEffect, useRef } from "react";
import { create } from "zustand";

export interface KeyBinding {
  /** As `KeyboardEvent.key`, e.g. `j`, `Enter`, `?`. Two keys after each other: `g r`. */
  keys: string;
  does: string;
  act: () => void;
}

interface Held {
  id: number;
  group: string;
  bindings: KeyBinding[];
}

export const useKeyList = create<{ held: Held[] }>(() => ({ held: [] }));
const TOGETHER_MS = 900;
let latest = 0;

/** Bind keys while the component is mounted. `group` is their heading in the list. */
export function useKeys(group: string, bindings: KeyBinding[]): void {
  const now = useRef(bindings);
  now.current = bindings;
  const shape = bindings.map((binding) => `${binding.keys} ${binding.does}`).join("\n");
  useEffect(() => {
    const id = ++latest;
    const live = now.current.map((binding, at) => ({ ...binding, act: () => now.current[at]?.act() }));
    useKeyList.setState(({ held }) => ({ held: [...held, { id, group, bindings: live }] }));
    return () => useKeyList.setState(({ held }) => ({ held: held.filter((each) => each.id !== id) }));
  }, [group, shape]);
}

/** Once, at the top of the page: hands keys to whoever bound them last. */
export function listenToKeys(): () => void {
  let first = "";
  let firstAt = 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
    const pair = performance.now() - firstAt < TOGETHER_MS ? `${first} ${event.key}` : "";
    first = event.key;
    firstAt = performance.now();
    const all = useKeyList
      .getState()
      .held.flatMap((each) => each.bindings)
      .reverse();
    const found = all.find((each) => each.keys === pair) ?? all.find((each) => each.keys === event.key);
    if (found === undefined) return;
    event.preventDefault();
    first = "";
    found.act();
  };
  window.addEventListener("keydown", onKeyDown);
  return () => window.removeEventListener("keydown", onKeyDown);
}

function isTyping(event: KeyboardEvent): boolean {
  const at = event.target;
  if (!(at instanceof HTMLElement)) return false;
  if (at.isContentEditable || at.closest("input:not([type=checkbox]):not([type=radio]), textarea, select")) return true;
  // A pressed button answers Enter and Space itself; a dialog holds the keys.
  if ((event.key === "Enter" || event.key === " ") && at.closest("button, a, summary")) return true;
  return document.querySelector("dialog[open]") !== null;
}
