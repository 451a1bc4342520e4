import { signal } from "@preact/signals";
import { CONSOLE_URL } from "../navigation/navigate.tsx";

/** The root of the server, which is the address of its first agent. */
export const SERVER_URL = new URL("..", CONSOLE_URL);

const STORED_TOKEN = "convoke-token";

const token = signal(sessionStorage.getItem(STORED_TOKEN) ?? undefined);

/** Why the server does not accept this visitor. Absent if it does, or has not been asked yet. */
export const refusal = signal<string | undefined>(undefined);

/** Increases when the visitor has signed in, so that pages load again. */
export const signIns = signal(0);

/**
 * Uses a token for all requests. It is kept in memory, and in this tab's session storage if the visitor
 * wants that; never in an address, in local storage or in a cookie.
 */
export function signIn(given: string, { isKept }: { readonly isKept: boolean }): void {
  token.value = given;
  if (isKept) sessionStorage.setItem(STORED_TOKEN, given);
  else sessionStorage.removeItem(STORED_TOKEN);
  refusal.value = undefined;
  signIns.value++;
}

export function signOut(): void {
  token.value = undefined;
  sessionStorage.removeItem(STORED_TOKEN);
  signIns.value++;
}

export function isSignedIn(): boolean {
  return token.value !== undefined;
}

/** What the client of an agent sends to identify this visitor. */
export function authOptions(): { readonly token?: string } {
  return token.value === undefined ? {} : { token: token.value };
}

/** A request that the server did not fulfil. */
export class ServerProblem extends Error {
  /** The HTTP status; 0 if the server could not be reached. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface AskOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request to the server. Rejects with a `ServerProblem` unless it succeeds. */
export async function request(path: string, options: AskOptions = {}): Promise<Response> {
  const { method = "GET", body, signal, headers } = options;
  const response = await fetch(new URL(path.replace(/^\//, ""), SERVER_URL), {
    method,
    headers: {
      ...headers,
      ...(token.value !== undefined && { authorization: `Bearer ${token.value}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
    credentials: "omit",
    redirect: "error",
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ServerProblem(0, "The server does not answer.");
  });
  if (response.ok) return response;
  const problem = new ServerProblem(response.status, await explain(response));
  if (response.status === 401) refusal.value = problem.message;
  throw problem;
}

/** Sends a request and reads its answer as JSON. */
export async function ask<Answer>(path: string, options?: AskOptions): Promise<Answer> {
  return (await request(path, options)).json() as Promise<Answer>;
}

async function explain(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } };
    if (typeof error?.message === "string") return error.message;
  } catch {
    // Proxies answer in other formats.
  }
  return `The server answered with status ${response.status}.`;
}
