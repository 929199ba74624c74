import { type DragEvent, type KeyboardEvent, useCallback, useRef, useState } from "react";

import { calls, problemOf, request, upload } from "../../api/client";
import { Button } from "../../parts";
import { FilePicker } from "./file-picker";
import css from "./goal.module.css";

interface GoalFile {
  id: number;
  name: string;
  /** What was dropped; null for one of the folder, or behind a connection. */
  content: File | null;
  /** In the folder, or `NAME:path`; "" until it is there. */
  path: string;
  /** Of its bytes that were sent; null until sending begins. */
  share: number | null;
  problem: string;
}

let latest = 0;
const OF_CONNECTION = /^([a-z][a-z0-9_]{0,39}):(?!\/\/)(.*)$/s;

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
    const name = OF_CONNECTION.test(path) || path.includes("://") ? path : (path.split("/").at(-1) ?? path);
    setFiles((all) => (all.some((file) => file.path === path) ? all : [...all, { id: ++latest, name, content: null, path, share: 1, problem: "" }]));
  }, []);
  /** What somebody typed; whether it is there is asked at once, where it names a connection. */
  const type = useCallback(
    async (path: string) => {
      pick(path);
      const [, connection, inside = ""] = OF_CONNECTION.exec(path) ?? [];
      if (connection === undefined) return;
      const problem = await request(calls.connectionFiles(connection, { path: inside })).then(() => "", (error: unknown) => problemOf(error).message);
      setFiles((all) => all.map((file) => (file.path === path ? { ...file, problem } : file)));
    },
    [pick],
  );
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
    type,
    drop,
    dropProps,
  };
}

export interface GoalFilesProps {
  files: ReturnType<typeof useGoalFiles>;
  /** What they are to the goal. */
  what: string;
  /** Connections that have files. */
  stores: readonly string[];
}

export function GoalFiles({ files, what, stores }: GoalFilesProps) {
  const input = useRef<HTMLInputElement>(null);
  const [picking, setPicking] = useState<"folder" | "connection" | null>(null);
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
        <span>{files.isOver ? "Let go to add them." : `Drop ${what} here.`}</span>
        <Button size="small" onClick={() => input.current?.click()}>
          Upload…
        </Button>
        <Button size="small" onClick={() => setPicking("folder")}>
          From the folder…
        </Button>
        {stores.length > 0 && (
          <Button size="small" onClick={() => setPicking("connection")}>
            From a connection…
          </Button>
        )}
      </p>
      {stores.length > 0 && <TypedFile example={`${stores[0]}:folder/file.parquet`} onType={(path) => void files.type(path)} />}
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
      {picking !== null && (
        <FilePicker
          stores={picking === "connection" ? stores : null}
          onClose={() => setPicking(null)}
          onPick={files.pick}
          picked={files.paths}
        />
      )}
    </div>
  );
}

/** A word for data: what lies in the folder, or behind a connection. */
function TypedFile({ example, onType }: { example: string; onType: (path: string) => void }) {
  const [word, setWord] = useState("");
  const add = () => {
    if (word.trim() !== "") onType(word.trim());
    setWord("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    add();
  };
  return (
    <p className={css.typed}>
      <input
        aria-label="Data behind a connection"
        value={word}
        placeholder={`or type it: ${example}`}
        spellCheck={false}
        autoCapitalize="none"
        onChange={({ target }) => setWord(target.value)}
        onKeyDown={onKeyDown}
      />
      <Button size="small" disabled={word.trim() === ""} onClick={add}>
        Add
      </Button>
    </p>
  );
}
