import { useState } from "react";

import { post } from "../../api/client";
import type { Change } from "../../api/types";
import { Button, Dialog, Empty, Loading, ProblemBanner, clock, tell, tellProblem, useFetched } from "../../parts";
import css from "./detail.module.css";

interface Undone {
  cells: string[];
  kept: string[];
  /** Why there was nothing to undo. */
  why: string;
}

/** Take back one change of a run, or all of them. */
export function UndoDialog({ run, onClose, onChanged }: { run: string; onClose: () => void; onChanged: () => void }) {
  const found = useFetched<{ changes: Change[] }>(`/runs/${run}/changes`);
  const [step, setStep] = useState<number | null>(null);
  const [isBusy, setBusy] = useState(false);
  const changes = (found.value?.changes ?? []).toSorted((one, other) => other.number - one.number);
  const canUndo = changes.some((change) => !change.is_undone);
  const undo = async () => {
    setBusy(true);
    try {
      const said = await post<Undone>(`/runs/${run}/undo`, { step });
      tell(toldUndone(said), said.kept.length > 0 ? `Kept, because somebody changed it since: ${said.kept.join(", ")}` : "");
      onChanged();
      onClose();
    } catch (error) {
      tellProblem(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Undo"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="primary" isBusy={isBusy} disabled={!canUndo} onClick={() => void undo()}>
            {step === null ? "Undo everything" : `Undo change ${step}`}
          </Button>
        </>
      }
    >
      <p className={css.lead}>Cells go back to what they were. What a person changed since stays theirs, and you are told.</p>
      {found.error !== null && <ProblemBanner error={found.error} />}
      {found.isLoading && <Loading />}
      {found.value !== null && changes.length === 0 && <Empty title="This run changed no cells" />}
      {changes.length > 0 && (
        <fieldset className={css.choices}>
          <legend className="visually-hidden">What to take back</legend>
          <label className={css.choice}>
            <input type="radio" name="step" checked={step === null} onChange={() => setStep(null)} />
            <span>Everything this run did</span>
          </label>
          {changes.map((change) => (
            <ChangeChoice key={change.number} change={change} isChosen={step === change.number} onChoose={setStep} />
          ))}
        </fieldset>
      )}
    </Dialog>
  );
}

function ChangeChoice({ change, isChosen, onChoose }: { change: Change; isChosen: boolean; onChoose: (step: number) => void }) {
  const cells = change.cells.map((cell) => `${cell.name || cell.cell} ${cell.kind}`).join(", ");
  return (
    <label className={css.choice}>
      <input type="radio" name="step" disabled={change.is_undone} checked={isChosen} onChange={() => onChoose(change.number)} />
      <span className={change.is_undone ? css.struck : undefined}>
        {change.number}. {cells}
      </span>
      <span className={css.faint}>
        {change.is_undone ? "undone" : change.at_ms === null ? change.agent : clock(change.at_ms)}
      </span>
    </label>
  );
}

function toldUndone(said: Undone): string {
  if (said.why !== "") return said.why;
  return said.cells.length === 1 ? "One cell is as it was." : `${said.cells.length} cells are as they were.`;
}
