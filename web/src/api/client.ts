/** Calls of the API. The token lives in this tab only; every failure is an `ApiError` that says what to do. */

import type { NewSession, Problem } from "./types";

const ROOT = new URL("api/v1", document.baseURI).pathname;
const TOKEN = "cellwright.token";
const SESSION_ENDED = "cellwright:session-ended";

/** A request that did not do what it was for. `status` 0: the server could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly kind: string;
  readonly hint: string;

  constructor(status: number, problem: Problem) {
    super(problem.message);
    this.name = "ApiError";
    this.status = status;
    this.kind = problem.kind;
    this.hint = problem.hint;
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** Any failure in the API's words. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return { kind: error.kind, message: error.message, hint: error.hint };
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
  const session = await send<NewSession>("POST", "/session", { one_time: decodeURIComponent(oneTime) });
  sessionStorage.setItem(TOKEN, session.token);
  return true;
}

export function authorized(headers: Record<string, string> = {}): Record<string, string> {
  const held = token();
  return held === null ? headers : { ...headers, Authorization: `Bearer ${held}` };
}

export function apiPath(path: string): string {
  return `${ROOT}${path}`;
}

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** The bare answer, if it is a good one. */
export async function request(method: Method, path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(apiPath(path), {
      ...init,
      method,
      headers: authorized({ Accept: "application/json", ...(init.headers as Record<string, string> | undefined) }),
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, {
      kind: "offline",
      message: "Cellwright does not answer.",
      hint: "Is `cellwright serve` still running? This page goes on by itself once it is.",
    });
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response: Response): Promise<ApiError> {
  const problem = await saidProblem(response);
  if (response.status === 401) {
    forgetToken();
    window.dispatchEvent(new Event(SESSION_ENDED));
  }
  return new ApiError(response.status, problem);
}

async function saidProblem(response: Response): Promise<Problem> {
  const fallback = { kind: "unknown", message: `The server said ${response.status}.`, hint: "" };
  try {
    const body: unknown = await response.json();
    const error = typeof body === "object" && body !== null && "error" in body ? body.error : null;
    return { ...fallback, ...(error as Partial<Problem> | null) };
  } catch {
    return fallback;
  }
}

async function send<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = signal === undefined ? {} : { signal };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const response = await request(method, path, init);
  return (response.status === 204 ? null : await response.json()) as T;
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>("GET", path, undefined, signal);
}

export function post<T>(path: string, body: unknown = {}): Promise<T> {
  return send<T>("POST", path, body);
}

export function put<T>(path: string, body: unknown): Promise<T> {
  return send<T>("PUT", path, body);
}

export function remove<T = null>(path: string): Promise<T> {
  return send<T>("DELETE", path);
}

/** Put a file into the folder's `data/`; tells its share that is sent. Gives the path it has there. */
export function upload(file: File, onShare: (share: number) => void): Promise<{ path: string }> {
  // fetch() cannot tell how far an upload has come.
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("PUT", apiPath(`/files/${encodeURIComponent(file.name)}`));
    for (const [name, value] of Object.entries(authorized({ "Content-Type": "application/octet-stream" })))
      sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => onShare(event.total > 0 ? event.loaded / event.total : 0);
    sending.onerror = () =>
      reject(new ApiError(0, { kind: "offline", message: `${file.name} was not sent.`, hint: "Try it again." }));
    sending.onload = () => {
      if (sending.status < 300) return resolve(JSON.parse(sending.responseText) as { path: string });
      failure(new Response(sending.responseText, { status: sending.status })).then(reject, reject);
    };
    sending.send(file);
  });
}

/** Hand a file of the API to the person: a plain link could not carry the token. */
export async function download(path: string, name: string): Promise<void> {
  const response = await request("GET", path, { headers: { Accept: "*/*" } });
  save(await response.blob(), name);
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
