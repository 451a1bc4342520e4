import type { Mounted } from "convoke";
import { request as open } from "node:http";

/** A request that can be made with `fetch` and over a socket. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A response without what belongs to its connection. */
export interface Answered {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Headers that a socket adds and a handler without one cannot know. */
const OF_THE_CONNECTION = new Set(["connection", "date", "keep-alive", "transfer-encoding"]);

/** The response of the fetch handler. */
export async function byFetch({ fetch }: Pick<Mounted, "fetch">, asked: Asked): Promise<Answered> {
  const { method, path, headers, body } = asked;
  const response = await fetch(
    new Request(`http://localhost${path}`, {
      method,
      ...(headers && { headers }),
      // As bytes: for text the standard adds a media type that was not requested.
      ...(mayHaveBody(asked) && { body: new TextEncoder().encode(body) }),
    }),
  );
  const text = await response.text();
  return { status: response.status, headers: told(response.headers), body: text };
}

/** The response of the listener, over a real port. */
export function byPort(port: number, asked: Asked): Promise<Answered> {
  const { method, path, body = "" } = asked;
  // Node declares a body by itself for some methods only.
  const length = mayHaveBody(asked) ? { "content-length": Buffer.byteLength(body) } : {};
  const headers = { host: "localhost", ...length, ...asked.headers };
  return new Promise((resolve, reject) => {
    const sent = open({ port, host: "127.0.0.1", method, path, headers });
    sent.on("error", reject);
    sent.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => {
        const pairs = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
        const kept = told(pairs as [string, string][]);
        resolve({ status: answer.statusCode, headers: kept, body: text });
      });
    });
    sent.end(mayHaveBody(asked) ? body : undefined);
  });
}

function mayHaveBody({ method }: Asked): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** What is another each time, and how it looks: the id of a request, and what is left of a limit. */
const CHANGING: Readonly<Record<string, RegExp>> = {
  "x-request-id": /^[0-9a-f]{8}-\d+$/,
  "x-ratelimit-remaining": /^\d+$/,
  "x-ratelimit-reset": /^\d{10}$/,
};

function told(headers: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  const kept = [...headers].filter(([name]) => !OF_THE_CONNECTION.has(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, CHANGING[name]?.test(value) === true ? "…" : value]),
  );
}
