/** What a call of gRPC does next on HTTP/2. */
export type GrpcMove =
  /** The head of the answer; `isAll` ends the answer with it. */
  | {
      readonly kind: "head";
      readonly headers: Readonly<Record<string, string | number>>;
      readonly isAll?: boolean;
    }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Ends the answer as gRPC does. */
  | { readonly kind: "trailers"; readonly trailers: Readonly<Record<string, string>> }
  /** Ends the answer, and says nothing of how it went. */
  | { readonly kind: "end" }
  | { readonly kind: "rst"; readonly code: number }
  /** Tells the client that no new calls are taken; this one goes on. */
  | { readonly kind: "goaway" }
  /** Closes the whole connection. */
  | { readonly kind: "close" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "hang" };
