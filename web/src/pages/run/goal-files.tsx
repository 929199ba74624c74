import { type DragEvent, useCallback, useRef, useState } from "react";

import { problemOf, upload } from "../../api/client";
import { Button } from "../../parts";
import { FilePicker } from "./file-picker";
import css from "./goal.module.css";

interface GoalFile {
  id: number;
  name: string;
  /** In the folder; "" until it is there. */
  path: string;
  share: number;
  problem: string;
}

let latest = 0;

/** Files for a goal: dropped and sent, or picked from the folder. */
export function useGoalFiles() {
  const [files, setFiles] = useState<readonly GoalFile[]>([]);
  const [isOver, setIsOver] = useState(false);
  const change = useCallback(
    (id: number, to: Partial<GoalFile>) =>
      setFiles((all) => all.map((file) => (file.id === id ? { ...file, ...to } : file))),
    [],
  );
  const send = useCallback(
    (found: Iterable<File>) => {
      for (const file of found) {
        const id = ++latest;
        setFiles((all) => [...all, { id, name: file.name, path: "", share: 0, problem: "" }]);
        upload(file, (share) => change(id, { share })).then(
          ({ path }) => change(id, { path, share: 1 }),
          (error: unknown) => change(id, { problem: problemOf(error).message }),
        );
      }
    },
    [change],
  );
  const pick = useCallback((path: string) => {
    setFiles((all) =>
      all.some((file) => file.path === path)
        ? all
        : [...all, { id: ++latest, name: path.split("/").at(-1) ?? path, path, share: 1, problem: "" }],
    );
  }, []);
  const drop = useCallback((id: number) => setFiles((all) => all.filter((file) => file.id !== id)), []);
  const dropProps = {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: (event: DragEvent) =>
      event.currentTarget.contains(event.relatedTarget as Node | null) || setIsOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      send(event.dataTransfer.files);
    },
  };
  return {
    files,
    paths: files.filter((file) => file.path !== "").map((file) => file.path),
    isSending: files.some((file) => file.path === "" && file.problem === ""),
    isOver,
    send,
    pick,
    drop,
    dropProps,
  };
}

export function GoalFiles({ files }: { files: ReturnType<typeof useGoalFiles> }) {
  const input = useRef<HTMLInputElement>(null);
  const [isPicking, setIsPicking] = useState(false);
  return (
    <div className={css.files}>
      <ul className={css.fileList}>
        {files.files.map((file) => (
          <li key={file.id} className={css.file} data-problem={file.problem !== ""} title={file.problem || file.path}>
            <span>{file.name}</span>
            {file.path === "" && file.problem === "" && (
              <progress value={file.share} aria-label={`Sending ${file.name}`} />
            )}
            {file.problem !== "" && <em>{file.problem}</em>}
            <button type="button" aria-label={`Remove ${file.name}`} onClick={() => files.drop(file.id)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
      <p className={css.fileHint}>
        <span>{files.isOver ? "Let go to add them." : "Drop data files here."}</span>
        <Button size="small" onClick={() => input.current?.click()}>
          Upload…
        </Button>
        <Button size="small" onClick={() => setIsPicking(true)}>
          From the folder…
        </Button>
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          files.send(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      {isPicking && <FilePicker onClose={() => setIsPicking(false)} onPick={files.pick} picked={files.paths} />}
    </div>
  );
}
