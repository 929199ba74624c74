import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { Choices, Kbd, useKeys } from "../../parts";
import { FILTERS, choose, useRunList } from "./list-state";
import css from "./runs.module.css";

const TYPING_MS = 180;

/** What is looked for among the runs. */
export function RunSearch() {
  const { search, filter } = useRunList();
  const [words, setWords] = useState(search);
  const box = useRef<HTMLInputElement>(null);
  useKeys("Runs", [{ keys: "/", does: "Search", act: () => box.current?.focus() }]);
  useEffect(() => setWords(search), [search]);
  useEffect(() => {
    if (words === useRunList.getState().search) return;
    const timer = setTimeout(() => choose({ search: words }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && words === "") box.current?.blur();
    else if (event.key === "Escape") setWords("");
  };
  return (
    <div className={css.tools}>
      <div className={css.searchBox}>
        <input
          ref={box}
          type="search"
          className={css.search}
          aria-label="Search runs"
          placeholder="Search goals, notebooks, ids"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <span className={css.searchKey} aria-hidden="true">
          <Kbd>/</Kbd>
        </span>
      </div>
      <Choices
        label="Filter by status"
        look="pills"
        options={FILTERS}
        selected={filter}
        onSelect={(id) => choose({ filter: id })}
      />
    </div>
  );
}
