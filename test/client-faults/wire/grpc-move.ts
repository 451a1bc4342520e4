/** The next thing that a gRPC call does on HTTP/2. */
export type GrpcMove =
  /** The head of the response; `isAll` also ends the response. */
  | {
      readonly kind: "head";
      readonly headers: Readonly<Record<string, string | number>>;
      readonly isAll?: boolean;
    }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Ends the response with a gRPC status. */
  | { readonly kind: "trailers"; readonly trailers: Readonly<Record<string, string>> }
  /** Ends the response without a gRPC status. */
  | { readonly kind: "end" }
  | { readonly kind: "rst"; readonly code: number }
  /** Sends GOAWAY: the client may start no new calls, but this one continues. */
  | { readonly kind: "goaway" }
  /** Closes the whole connection. */
  | { readonly kind: "close" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "hang" };
