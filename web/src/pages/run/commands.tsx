/** What a person can do with a run: pause, stop, cancel, undo, redo, and the questions before some of it. */

import { type ReactNode, useEffect, useState } from "react";

import { type Call, calls, request } from "../../api/client";
import type { Noted } from "../../api/types";
import { Button, Dialog, redoneWords, tell, tellProblem, undoneWords } from "../../parts";
import type { FollowedRun } from "./follow-run";
import type { Standing } from "./standing";

export interface RunCommands {
  pause: () => void;
  resume: () => void;
  stop: () => void;
  askCancel: () => void;
  askUndo: () => void;
  /** null: nothing was undone that could come back. */
  redo: (() => void) | null;
  isBusy: boolean;
  isPausing: boolean;
  isStopping: boolean;
  /** Whatever is being asked before something is done. */
  dialog: ReactNode;
}

export function useCommands(followed: FollowedRun, standing: Standing): RunCommands {
  const { run, refresh, story } = followed;
  const [isBusy, setIsBusy] = useState(false);
  const [sent, setSent] = useState<"" | "pause" | "stop">("");
  const [asks, setAsks] = useState<"" | "cancel" | "undo">("");
  // Until the run's own story says it: that is what a reload, or another browser, sees too.
  useEffect(() => setSent(""), [story.wanted, standing.isPaused, standing.isOver]);
  const wanted = sent === "" ? story.wanted : sent;

  const act = async <T,>(work: () => Promise<T>, said: (answer: T) => string) => {
    setIsBusy(true);
    try {
      tell(said(await work()));
    } catch (error) {
      setSent("");
      tellProblem(error);
    } finally {
      setIsBusy(false);
      refresh();
    }
  };
  const send = (call: Call<Noted>, fallback: string) =>
    act(
      () => request(call),
      ({ note }) => note || fallback,
    );
  const undo = (step: number | null) => {
    setAsks("");
    void act(() => request(calls.undoRun(run, { step })), undoneWords);
  };
  return {
    pause: () => {
      setSent("pause");
      void send(calls.pauseRun(run), "It pauses before its next step.");
    },
    resume: () => void send(calls.resumeRun(run), "It goes on."),
    stop: () => {
      setSent("stop");
      void send(calls.stopRun(run), "It stops; everything it made is kept.");
    },
    askCancel: () => setAsks("cancel"),
    askUndo: () => setAsks("undo"),
    redo: followed.canRedo ? () => void act(() => request(calls.redoRun(run)), redoneWords) : null,
    isBusy,
    isPausing: wanted === "pause",
    isStopping: wanted === "stop",
    dialog:
      asks === "cancel" ? (
        <CancelDialog
          onClose={() => setAsks("")}
          onCancel={(reason) => {
            setAsks("");
            void send(calls.cancelRun(run, { reason }), "Cancelled.");
          }}
        />
      ) : asks === "undo" ? (
        <UndoDialog followed={followed} onClose={() => setAsks("")} onUndo={undo} />
      ) : null,
  };
}

function CancelDialog({ onClose, onCancel }: { onClose: () => void; onCancel: (reason: string) => void }) {
  const [reason, setReason] = useState("");
  return (
    <Dialog
      title="Cancel this run at once?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Let it end by itself</Button>
          <Button look="danger" onClick={() => onCancel(reason)}>
            Cancel the run
          </Button>
        </>
      }
    >
      <p>Nobody hands anything over. The notebook stays as it is now, and the run can be resumed or forked later.</p>
      <p style={{ marginTop: 12 }}>
        <label>
          Why (optional)
          <br />
          <input style={{ width: "100%" }} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
      </p>
    </Dialog>
  );
}

interface UndoDialogProps {
  followed: FollowedRun;
  onClose: () => void;
  onUndo: (step: number | null) => void;
}

function UndoDialog({ followed, onClose, onUndo }: UndoDialogProps) {
  const left = followed.changes.filter((change) => !change.is_undone);
  const last = left.at(-1);
  return (
    <Dialog
      title="Undo"
      onClose={onClose}
      actions={
        last === undefined ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button look="danger" onClick={() => onUndo(null)}>
              Undo all {left.length} changes
            </Button>
            <Button look="primary" onClick={() => onUndo(last.number)}>
              Undo the last change
            </Button>
          </>
        )
      }
    >
      {last === undefined ? (
        <p>This run has changed nothing that could be taken back.</p>
      ) : (
        <>
          <p>
            The last change ({last.number}) touched{" "}
            <strong>{last.cells.map((cell) => cell.name || cell.cell).join(", ")}</strong>.
          </p>
          <p style={{ marginTop: 8 }}>
            What you changed yourself since then stays as it is. Any single change can be undone under Changes.
          </p>
        </>
      )}
    </Dialog>
  );
}
