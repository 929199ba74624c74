import { type DragEvent, useCallback, useRef, useState } from "react";

import { problemOf, upload } from "../../api/client";
import { Button } from "../../parts";
import { FilePicker } from "./file-picker";
import css from "./goal.module.css";

interface GoalFile {
  id: number;
  name: string;
  /** What was dropped; null for one of the folder. */
  content: File | null;
  /** In the folder; "" until it is there. */
  path: string;
  /** Of its bytes that were sent; null until sending begins. */
  share: number | null;
  problem: string;
}

let latest = 0;

/** Files for a goal, picked from the folder or dropped: these are sent when it starts, so what is removed before never is. */
export function useGoalFiles() {
  const [files, setFiles] = useState<readonly GoalFile[]>([]);
  const [isOver, setIsOver] = useState(false);
  const change = useCallback(
    (id: number, to: Partial<GoalFile>) =>
      setFiles((all) => all.map((file) => (file.id === id ? { ...file, ...to } : file))),
    [],
  );
  const add = useCallback(
    (found: Iterable<File>) =>
      setFiles((all) => [
        ...all,
        ...[...found].map((content) => {
          return { id: ++latest, name: content.name, content, path: "", share: null, problem: "" };
        }),
      ]),
    [],
  );
  /** Where every file is, once all are in the folder; one that is there stays there when another fails. */
  const send = async (): Promise<string[]> => {
    const paths: string[] = [];
    for (const { id, content, path: known } of files) {
      if (content === null || known !== "") {
        paths.push(known);
        continue;
      }
      change(id, { share: 0, problem: "" });
      try {
        const { path } = await upload(content, (share) => change(id, { share }));
        change(id, { path, share: 1 });
        paths.push(path);
      } catch (error) {
        change(id, { share: null, problem: problemOf(error).message });
        throw error;
      }
    }
    return paths;
  };
  const pick = useCallback((path: string) => {
    setFiles((all) =>
      all.some((file) => file.path === path)
        ? all
        : [...all, { id: ++latest, name: path.split("/").at(-1) ?? path, content: null, path, share: 1, problem: "" }],
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
      add(event.dataTransfer.files);
    },
  };
  return {
    files,
    paths: files.filter((file) => file.path !== "").map((file) => file.path),
    isOver,
    add,
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
            {file.path === "" && file.share !== null && (
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
          files.add(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      {isPicking && <FilePicker onClose={() => setIsPicking(false)} onPick={files.pick} picked={files.paths} />}
    </div>
  );
}
