import type { Virtualizer } from "@tanstack/react-virtual";
import type { KeyboardEvent } from "react";

/** Home and End by rows. The browser's own go by heights, which are guesses for rows that nobody has seen yet. */
export function homeAndEnd(list: Virtualizer<HTMLDivElement, Element>) {
  return (event: KeyboardEvent) => {
    const to = { Home: 0, End: list.options.count - 1 }[event.key];
    // A long output within a row has its own ends.
    if (to === undefined || event.target !== event.currentTarget) return;
    event.preventDefault();
    list.scrollToIndex(to, { align: event.key === "End" ? "end" : "start" });
  };
}
