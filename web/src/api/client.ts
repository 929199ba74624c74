/** The page's client. The token lives in this tab only; every failure is an `ApiError` that says what to do. */

import { ApiError, type Call, Client, type File as ApiFile, type Following, type ServerEvent, type Stream, calls, failure } from "cellwright-client";
import type { Problem } from "./types";

export { ApiError, calls } from "cellwright-client";
export type { Call, File as ApiFile } from "cellwright-client";

const TOKEN = "cellwright.token";
const SESSION_ENDED = "cellwright:session-ended";

const client = new Client({
  url: new URL(".", document.baseURI).pathname,
  token,
  init: { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" },
});

/** Any failure in the API's words. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  return { kind: "unknown", message: error instanceof Error ? error.message : String(error), hint: "" };
}

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
}

/** Called once the server no longer knows this tab's token. Gives the function that stops listening. */
export function onSessionEnded(listener: () => void): () => void {
  window.addEventListener(SESSION_ENDED, listener);
  return () => window.removeEventListener(SESSION_ENDED, listener);
}

/** Trade the one-time word of the address for this tab's token, and take it out of the address. */
export async function startSession(): Promise<boolean> {
  const oneTime = /^#start=([^&]+)/.exec(location.hash)?.[1];
  if (oneTime === undefined) return token() !== null;
  history.replaceState(null, "", `${location.pathname}#/`);
  const session = await request(calls.startSession({ one_time: decodeURIComponent(oneTime) }));
  sessionStorage.setItem(TOKEN, session.token);
  return true;
}

/** What is answered. */
export async function request<Answer>(call: Call<Answer>, signal?: AbortSignal): Promise<Answer> {
  return client.send(call, signal).catch(told);
}

/** Events for as long as one connection lasts. */
export async function* read(stream: Stream, following: Following): AsyncGenerator<ServerEvent> {
  try {
    yield* client.read(stream, following);
  } catch (error) {
    told(error);
  }
}

/** A file of the API. */
export async function fetchFile(file: ApiFile, signal?: AbortSignal): Promise<Blob> {
  return client.download(file, signal).catch(told);
}

/** Throws it again: in the page's words where nobody answers; a token that does not count any more is forgotten. */
function told(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) {
    forgetToken();
    window.dispatchEvent(new Event(SESSION_ENDED));
  }
  if (!error.isOffline) throw error;
  const hint = "Is `cellwright serve` still running? This page goes on by itself once it is.";
  throw new ApiError(0, { ...error.problem, hint });
}

/** Put a file into the folder's `data/`; tells its share that is sent. Gives the path it has there. */
export function upload(file: File, onShare: (share: number) => void): Promise<{ path: string }> {
  // fetch() cannot tell how far an upload has come.
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const call = calls.uploadFile(file.name, file);
    const { url, headers } = client.addressed(call);
    sending.open(call.method, url);
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => onShare(event.total > 0 ? event.loaded / event.total : 0);
    sending.onerror = () =>
      reject(new ApiError(0, { kind: "offline", message: `${file.name} was not sent.`, hint: "Try it again." }));
    sending.onload = () => {
      if (sending.status < 300) return resolve(JSON.parse(sending.responseText) as { path: string });
      failure(new Response(sending.responseText, { status: sending.status })).then(told).catch(reject);
    };
    sending.send(file);
  });
}

/** Hand a file of the API to the person: a plain link could not carry the token. */
export async function download(file: ApiFile, name: string): Promise<void> {
  save(await fetchFile(file), name);
}

/** Hand something to the person as a file of this name. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
