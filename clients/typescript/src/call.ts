/** Calls as values: what would be sent, and of which type the answer is. */

export type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface Request {
  readonly method: Method;
  /** Below the prefix of the API's version, with its query. */
  readonly path: string;
  /** A Blob goes as it is, all else as JSON. */
  readonly body?: unknown;
}

/** A call whose answer is JSON. */
export interface Call<Answer> extends Request {
  readonly kind: "call";
  /** Never there: of which type the answer is. */
  readonly answer?: Answer;
}

/** A call whose answer is a file. */
export interface File extends Request {
  readonly kind: "file";
}

/** A call whose answer is events, as they happen. */
export interface Stream extends Request {
  readonly kind: "stream";
}

interface Sent {
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
}

export function call<Answer>(method: Method, path: string, sent: Sent = {}): Call<Answer> {
  return { kind: "call", ...request(method, path, sent) };
}

export function file(method: Method, path: string, sent: Sent = {}): File {
  return { kind: "file", ...request(method, path, sent) };
}

export function stream(method: Method, path: string, sent: Sent = {}): Stream {
  return { kind: "stream", ...request(method, path, sent) };
}

function request(method: Method, path: string, { body, query = {} }: Sent): Request {
  const said = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const whole = said.length === 0 ? path : `${path}?${said.join("&")}`;
  return body === undefined ? { method, path: whole } : { method, path: whole, body };
}
