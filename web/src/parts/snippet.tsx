import { Button } from "./button";
import { Card } from "./card";
import { Python } from "./python";
import { tell } from "./toast";

/** Code to be copied into a cell. */
export function SnippetCard({ title, code }: { title: string; code: string }) {
  const copy = () => {
    navigator.clipboard.writeText(code).then(
      () => tell("Copied."),
      () => tell("Select it and copy it by hand.", "The browser did not allow copying."),
    );
  };
  return (
    <Card
      title={title}
      actions={
        <Button size="small" onClick={copy}>
          Copy
        </Button>
      }
    >
      <Python code={code} />
    </Card>
  );
}
