import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { Kbd, useKeys } from "../../parts";
import css from "./connections.module.css";

const TYPING_MS = 180;

export interface SearchBoxProps {
  /** What it does, which it also says while it is empty. */
  what: string;
  /** Among whose keys the `/` is listed. */
  room: string;
  onSearch: (words: string) => void;
}

/** Tells what is typed when somebody pauses; Escape empties it, then leaves it. */
export function SearchBox({ what, room, onSearch }: SearchBoxProps) {
  const [words, setWords] = useState("");
  const box = useRef<HTMLInputElement>(null);
  useKeys(room, [{ keys: "/", does: what, act: () => box.current?.focus() }]);
  useEffect(() => {
    const timer = setTimeout(() => onSearch(words.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && words === "") box.current?.blur();
    else if (event.key === "Escape") setWords("");
  };
  return (
    <div className={css.searchBox}>
      <input
        ref={box}
        type="search"
        aria-label={what}
        placeholder={what}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <span className={css.searchKey} aria-hidden="true">
        <Kbd>/</Kbd>
      </span>
    </div>
  );
}
