import { type ReactNode, Suspense, lazy } from "react";

import css from "./parts.module.css";

const MarkdownText = lazy(() => import("./markdown-text"));
/** Longer text is shown as it is: laying it out could freeze the page. */
const LONGEST = 40_000;
const CODE_SPAN = /`[^`\n]+`/g;
/** Lists, headings, quotes, links, tables, HTML …: more than words with emphasis. */
const NEEDS_MORE =
  /^\s{0,3}(?:[-*+]|\d+[.)])\s|^\s{0,3}#|^\s{0,3}>|^\s{4}|[`[\]|<>_~&\\!]|https?:|^\s{0,3}[-=*]{3,}\s*$/m;

/** What a model or a person wrote. HTML in it stays text; pictures are not fetched; links open elsewhere. */
export function Markdown({ text }: { text: string }) {
  if (text.length > LONGEST) return <div className={css.plain}>{text.slice(0, LONGEST)}…</div>;
  if (!NEEDS_MORE.test(text.replaceAll(CODE_SPAN, ""))) return <Words text={text} />;
  return (
    <Suspense fallback={<Words text={text} />}>
      <MarkdownText text={text} />
    </Suspense>
  );
}

/** Words with emphasis and code in them, drawn without the whole machinery: long streams of them stay smooth. */
function Words({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      {text
        .trim()
        .split(/\n\s*\n/)
        .map((paragraph, at) => (
          <p key={at}>{emphasised(paragraph)}</p>
        ))}
    </div>
  );
}

const MARKED = /`([^`\n]+)`|\*\*([^\s*](?:[^*]*[^\s*])?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*/g;

function emphasised(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const found of text.matchAll(MARKED)) {
    parts.push(text.slice(at, found.index));
    const [whole, code, strong, soft] = found;
    if (code !== undefined) parts.push(<code key={found.index}>{code}</code>);
    else if (strong !== undefined) parts.push(<strong key={found.index}>{emphasised(strong)}</strong>);
    else parts.push(<em key={found.index}>{soft}</em>);
    at = found.index + whole.length;
  }
  return [...parts, text.slice(at)];
}
