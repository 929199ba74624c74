import ReactMarkdown from "react-markdown";

import css from "./parts.module.css";

const SAFE_LINK = /^https?:\/\//i;

/** Loaded when it is first needed. Use `Markdown`. */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      <ReactMarkdown
        skipHtml={false}
        disallowedElements={["img"]}
        unwrapDisallowed
        urlTransform={(address) => (SAFE_LINK.test(address) ? address : "")}
        components={{
          a: ({ href, children }) =>
            href ? (
              <a href={href} target="_blank" rel="noreferrer noopener">
                {children}
              </a>
            ) : (
              <span>{children}</span>
            ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
