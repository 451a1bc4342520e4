/** The next thing that a connection does, byte for byte. */
export type Move =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Data that does not fit into memory or comes from another source. */
  | { readonly kind: "flow"; readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> }
  | { readonly kind: "wait"; readonly ms: number }
  /** Half-closes the connection and keeps reading. */
  | { readonly kind: "half-close" }
  | { readonly kind: "close" }
  | { readonly kind: "reset" }
  /** Sends nothing more but keeps the connection open. */
  | { readonly kind: "hang" };

export const CLOSE: Move = { kind: "close" };
export const HALF_CLOSE: Move = { kind: "half-close" };
export const RESET: Move = { kind: "reset" };
export const HANG: Move = { kind: "hang" };

export function bytes(content: string | Uint8Array): Move {
  return { kind: "bytes", bytes: typeof content === "string" ? Buffer.from(content) : content };
}

export function wait(ms: number): Move {
  return { kind: "wait", ms };
}

export function flow(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Move {
  return { kind: "flow", pieces };
}
