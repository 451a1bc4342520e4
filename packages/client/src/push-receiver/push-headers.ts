/** The headers of a request, as `fetch` handlers or Node's servers have them. */
export type RequestHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers that matter to a receiver. */
export interface PushHeaders {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  readonly token: string | undefined;
  readonly version: string | undefined;
  readonly contentType: string | undefined;
}

export function readHeaders(headers: RequestHeaders): PushHeaders {
  return {
    id: valueOf(headers, "webhook-id"),
    timestamp: valueOf(headers, "webhook-timestamp"),
    signature: valueOf(headers, "webhook-signature"),
    token: valueOf(headers, "x-a2a-notification-token"),
    version: valueOf(headers, "a2a-version"),
    contentType: valueOf(headers, "content-type"),
  };
}

/** A header that was sent twice is joined as `Headers` joins it, and so equals neither of the two. */
function valueOf(headers: RequestHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  return values.length === 0 ? undefined : values.join(", ");
}

/** By its method: frameworks bring their own `Headers`, and a header called "get" is text. */
function isHeaders(headers: RequestHeaders): headers is Headers {
  return typeof headers.get === "function";
}
