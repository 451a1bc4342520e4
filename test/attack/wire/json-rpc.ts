import type { Target } from "../target.ts";
import { annOf, mainInterface } from "./a2a.ts";

/** A response to JSON-RPC, whatever it is. */
interface Reply {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

/** Posts any bytes to JSON-RPC as an accepted caller. A broken connection is status 0. */
export async function post(
  target: Target,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const { url, version } = mainInterface(target);
  const start = performance.now();
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "a2a-version": version,
        ...annOf(target),
        ...headers,
      },
      body,
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    return { status: response.status, text, ms: performance.now() - start };
  } catch (error) {
    return { status: 0, text: String(error), ms: performance.now() - start };
  }
}

/** How long one request may keep the server busy. */
export const BUSY_MS = 20_000;

/** A call of JSON-RPC with params that are already text. */
export function callText(target: Target, method: "send" | "get", params: string): string {
  const names = { send: ["SendMessage", "message/send"], get: ["GetTask", "tasks/get"] } as const;
  const name = names[method][mainInterface(target).version === "1.0" ? 0 : 1];
  return `{"jsonrpc":"2.0","id":1,"method":"${name}","params":${params}}`;
}

/** A message as text, with more fields. */
export function messageText(target: Target, more: string): string {
  const isV1 = mainInterface(target).version === "1.0";
  const role = isV1 ? "ROLE_USER" : "user";
  const part = isV1 ? '{"text":"hi"}' : '{"kind":"text","text":"hi"}';
  const id = crypto.randomUUID();
  return `{"message":{"messageId":"${id}","role":"${role}","parts":[${part}]${more}}}`;
}
