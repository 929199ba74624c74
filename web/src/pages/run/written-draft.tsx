import { Markdown, Python } from "../../parts";
import type { DraftSection } from "./drafts";
import { stepWords } from "./story";
import css from "./activity.module.css";

/** The end of long code is what is being written. */
const LINES = 24;

/** An answer that is being made. */
export function WrittenDraft({ sections }: { sections: readonly DraftSection[] }) {
  return (
    <div className={css.draft} aria-busy="true" data-draft="">
      {sections.map((section, at) => (
        // Sections are only added.
        <div key={at}>
          {section.title !== "" && <p className={css.soft}>{titleOf(section)}</p>}
          {section.kind === "code" ? (
            section.text !== "" && <Python code={lastLines(section.text)} most={LINES} />
          ) : (
            <Markdown text={section.text} />
          )}
        </div>
      ))}
    </div>
  );
}

function titleOf(section: DraftSection): string {
  return section.kind === "call" ? `${stepWords(`tool ${section.title}`)}…` : `${section.title}…`;
}

function lastLines(code: string): string {
  return code.split("\n").slice(-LINES).join("\n");
}
