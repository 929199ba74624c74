import { type ReactNode, useEffect, useId, useRef } from "react";

import { Button } from "./button";
import css from "./parts.module.css";

export interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  /** Buttons at the end; the last one is what most people want. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A question in front of everything else. Mount it to open it; Escape closes it; focus goes back where it was. */
export function Dialog({ title, onClose, actions, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      className={css.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <header className={css.dialogHead}>
        <h2 id={id}>{title}</h2>
        <Button look="quiet" size="small" aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </header>
      <div className={css.dialogBody}>
        {children}
        {actions !== undefined && <div className={css.dialogActions}>{actions}</div>}
      </div>
    </dialog>
  );
}
