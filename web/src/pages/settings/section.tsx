import type { ReactNode } from "react";

import type { Scope } from "../../api/types";
import { useHouse } from "../../house";
import { Banner, Button, Loading, ProblemBanner } from "../../parts";
import css from "./settings.module.css";

/** A heading and what it is about. */
export function Section({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  return (
    <>
      <header className={css.sectionHead}>
        <h2 className={css.sectionTitle}>{title}</h2>
        <p className={css.lead}>{lead}</p>
      </header>
      {children}
    </>
  );
}

export interface AwaitedProps<T> {
  found: { value: T | null; error: unknown; refresh: () => void };
  children: (value: T) => ReactNode;
}

/** What was asked for, once it is there; before that, that it comes; or why it does not. */
export function Awaited<T>({ found, children }: AwaitedProps<T>) {
  return (
    <>
      {found.error !== null && <ProblemBanner error={found.error} actions={<Button size="small" onClick={found.refresh}>Try again</Button>} />}
      {found.value !== null ? children(found.value) : found.error === null && <Loading />}
    </>
  );
}

const SCOPES: readonly Scope[] = ["read", "steer", "approve", "admin"];

/** Whether this tab may do what needs this scope. Until that is known it may try: the server decides. */
export function useMay(scope: Scope): boolean {
  const mine = useHouse((house) => house.session?.scope);
  return mine === undefined || SCOPES.indexOf(mine) >= SCOPES.indexOf(scope);
}

export function NeedsScope({ scope }: { scope: Scope }) {
  return (
    <Banner tone="info">
      You can look, but not change this: it needs a token with the scope <b>{scope}</b>.
    </Banner>
  );
}
