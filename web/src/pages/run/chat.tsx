import { type KeyboardEvent, useRef, useState } from "react";

import { calls, request } from "../../api/client";
import { Button, tellProblem, useKeys } from "../../parts";
import type { FollowedRun } from "./follow-run";
import { goOn } from "./go-on";
import css from "./run.module.css";

export interface ChatProps {
  followed: FollowedRun;
  isOver: boolean;
  /** What it is about, if a cell is marked. */
  cell: string | null;
  onCell: (cell: string | null) => void;
}

/** The API knows cells by id; what is marked may be a name, or a cell that is gone. */
async function say(run: string, words: string, marked: string | null): Promise<void> {
  if (marked === null) return void (await request(calls.sayToRun(run, { text: words, cell: null })));
  const { cells } = await request(calls.readNotebook(run));
  const cell = cells.find((each) => each.id === marked) ?? cells.find((each) => each.name === marked);
  const text = cell === undefined ? `About the cell ${marked}: ${words}` : words;
  await request(calls.sayToRun(run, { text, cell: cell?.id ?? null }));
}

/** A word to the agents, midway; heard before their next step. */
export function Chat({ followed, isOver, cell, onCell }: ChatProps) {
  const [text, setText] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  useKeys("This run", [{ keys: "c", does: "Say something to the agents", act: () => box.current?.focus() }]);
  const send = async () => {
    const words = text.trim();
    if (words === "" || isBusy) return;
    setIsBusy(true);
    try {
      if (isOver) await goOn(followed.story.goal, { goal: words });
      else await say(followed.run, words, cell);
      setText("");
    } catch (error) {
      tellProblem(error);
    } finally {
      setIsBusy(false);
      box.current?.focus();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    } else if (event.key === "Escape") box.current?.blur();
  };
  return (
    <form
      className={css.chat}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={box}
        rows={1}
        value={text}
        maxLength={6000}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        aria-label={isOver ? "A new goal for this notebook" : "Say something to the agents"}
        placeholder={isOver ? "Ask for more: a new goal…" : "Steer: “use the median instead”"}
      />
      {cell !== null && !isOver && (
        <button
          type="button"
          className={css.about}
          onClick={() => onCell(null)}
          aria-label={`About cell ${cell}; press to clear`}
        >
          {cell} ✕
        </button>
      )}
      <Button look="primary" type="submit" disabled={text.trim() === ""} isBusy={isBusy}>
        {isOver ? "Go on" : "Say"}
      </Button>
    </form>
  );
}
