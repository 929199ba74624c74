import css from "./parts.module.css";

export function Spinner() {
  return <span className={css.spinner} aria-hidden="true" />;
}

/** Where the content will be. */
export function Loading({ what = "Loading…" }: { what?: string }) {
  return (
    <div className={css.loading} role="status">
      <Spinner /> {what}
    </div>
  );
}
