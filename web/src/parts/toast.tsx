import { create } from "zustand";

import { problemOf } from "../api/client";
import { Button } from "./button";
import css from "./parts.module.css";

interface Toast {
  id: number;
  text: string;
  hint: string;
  isBad: boolean;
}

const LASTS_MS = 4_500;
const MOST = 4;
const useToasts = create<{ toasts: Toast[] }>(() => ({ toasts: [] }));
let latest = 0;

function show(toast: Omit<Toast, "id">): void {
  const id = ++latest;
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.slice(1 - MOST), { ...toast, id }] }));
  // What went wrong stays until it is read.
  if (!toast.isBad) setTimeout(() => dismiss(id), LASTS_MS);
}

function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

/** Say that something was done. */
export function tell(text: string, hint = ""): void {
  show({ text, hint, isBad: false });
}

/** Say what went wrong and what to do. */
export function tellProblem(error: unknown): void {
  const { message, hint } = problemOf(error);
  show({ text: message, hint, isBad: true });
}

/** Once, at the end of the page. */
export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} className={`${css.toast} ${toast.isBad ? css.toastBad : ""}`}>
          <div className={css.toastText}>
            {toast.text}
            {toast.hint !== "" && <div className={css.hint}>{toast.hint}</div>}
          </div>
          <Button look="quiet" size="small" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            ✕
          </Button>
        </div>
      ))}
    </div>
  );
}
