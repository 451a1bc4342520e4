/** What a connection does next, byte for byte. */
export type Move =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** More than fits into memory, or what comes from elsewhere. */
  | { readonly kind: "flow"; readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> }
  | { readonly kind: "wait"; readonly ms: number }
  /** Ends what is sent, and goes on reading. */
  | { readonly kind: "half-close" }
  | { readonly kind: "close" }
  | { readonly kind: "reset" }
  /** Nothing more comes, and the connection stays. */
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
