/** Sends calls to a Cellwright that is served. Needs nothing but `fetch`: a browser, or Node. */

import type { Call, File, Request, Stream } from "./call.ts";
import type { components } from "./schema.ts";
import { type ServerEvent, parseBlock } from "./server-event.ts";

export type Problem = components["schemas"]["Problem"];

/** The prefix of the version this client was made for. */
export const API = "/api/v1";
/** The server beats every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
/** Before a stream that ended is taken up again. */
const PAUSE_MS = 1_000;

/** A call that did not do what it was for. `status` 0: the server could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(status: number, problem: Problem) {
    super(problem.message);
    this.name = "ApiError";
    this.status = status;
    this.problem = problem;
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

export type Outcome<Answer> = { ok: true; answer: Answer } | { ok: false; status: number; problem: Problem };

export interface ClientOptions {
  /** Where it is served, as `cellwright serve` says. */
  url: string;
  /** Of `cellwright serve tokens create NAME`; asked for before each call, where it may change. */
  token: string | (() => string | null);
  /** For every request. */
  init?: RequestInit;
}

export interface Following {
  /** The id of the event that was read last; the server sends what comes after it. */
  last?: string;
  signal?: AbortSignal;
  onOpen?: () => void;
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** What is answered. Throws `ApiError`. */
  async send<Answer>(call: Call<Answer>, signal?: AbortSignal): Promise<Answer> {
    const response = await this.#ask(call, "application/json", signal);
    return (response.status === 204 ? null : await response.json()) as Answer;
  }

  /** What is answered, or what is wrong. */
  async attempt<Answer>(call: Call<Answer>, signal?: AbortSignal): Promise<Outcome<Answer>> {
    try {
      return { ok: true, answer: await this.send(call, signal) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { ok: false, status: error.status, problem: error.problem };
    }
  }

  /** The file. Throws `ApiError`. */
  async download(file: File, signal?: AbortSignal): Promise<Blob> {
    return (await this.#ask(file, "*/*", signal)).blob();
  }

  /** Events as they happen, for ever: leave the loop when you have seen enough. Nothing is lost or doubled where the
   * connection breaks off. Throws `ApiError` for what is refused, and where the server cannot be reached. */
  async *follow(stream: Stream, following: Following = {}): AsyncGenerator<ServerEvent> {
    let last = following.last ?? "";
    for (;;) {
      let isOpen = false;
      const onOpen = () => {
        isOpen = true;
        following.onOpen?.();
      };
      try {
        for await (const event of this.read(stream, { ...following, last, onOpen })) {
          if (event.id !== "") last = event.id;
          yield event;
        }
      } catch (error) {
        if (!isOpen || following.signal?.aborted === true) throw error;
      }
      await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    }
  }

  /** Events for as long as one connection lasts. */
  async *read(stream: Stream, { last = "", signal, onOpen }: Following = {}): AsyncGenerator<ServerEvent> {
    const silence = new AbortController();
    const over = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
    let alarm = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const more: Record<string, string> = last === "" ? {} : { "Last-Event-ID": last };
      const response = await this.#ask(stream, "text/event-stream", over, more);
      if (response.body === null) return;
      onOpen?.();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(alarm);
        alarm = setTimeout(() => silence.abort(), SILENCE_MS);
        const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = parseBlock(block);
          if (event !== null) yield event;
        }
      }
    } finally {
      clearTimeout(alarm);
      silence.abort();
    }
  }

  /** The address of a call, and the headers that go with each. */
  addressed(call: Request): { url: string; headers: Record<string, string> } {
    const { url, token } = this.#options;
    const held = typeof token === "string" ? token : token();
    const headers: Record<string, string> = held === null ? {} : { Authorization: `Bearer ${held}` };
    if (call.body !== undefined)
      headers["Content-Type"] = call.body instanceof Blob ? "application/octet-stream" : "application/json";
    return { url: url.replace(/\/+$/, "") + API + call.path, headers };
  }

  async #ask(
    call: Request,
    accept: string,
    signal?: AbortSignal,
    more: Record<string, string> = {},
  ): Promise<Response> {
    const { url, headers } = this.addressed(call);
    const init: RequestInit = { ...this.#options.init, method: call.method, headers: { Accept: accept, ...headers, ...more } };
    if (signal !== undefined) init.signal = signal;
    if (call.body !== undefined) init.body = call.body instanceof Blob ? call.body : JSON.stringify(call.body);
    let response: Response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError(0, OFFLINE);
    }
    if (!response.ok) throw await failure(response);
    return response;
  }
}

const OFFLINE: Problem = {
  kind: "offline",
  message: "Cellwright does not answer.",
  hint: "Is `cellwright serve` still running?",
};

/** What an answer says that is no success; something in between may have answered instead of the API. */
export async function failure(response: Response): Promise<ApiError> {
  const unknown = { kind: "unknown", message: `The server said ${response.status}.`, hint: "" };
  try {
    const body = (await response.json()) as { error?: Partial<Problem> } | null;
    return new ApiError(response.status, { ...unknown, ...body?.error });
  } catch {
    return new ApiError(response.status, unknown);
  }
}
