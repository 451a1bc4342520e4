import { parseExtensionList } from "@convoke/protocol";
import type { HttpRequest } from "../http/exchange.ts";

/** The header of 1.0 and that of 0.3; over gRPC they are metadata of the same names (1.0 §10.2). */
export const EXTENSION_HEADERS = { "1.0": "A2A-Extensions", "0.3": "X-A2A-Extensions" } as const;

/** What a caller asks for, and under which names it did. */
interface RequestedExtensions {
  readonly uris: ReadonlySet<string>;
  readonly headers: readonly string[];
}

/** Both names count in both versions: clients of either wrote either. */
export function requestedExtensions(request: HttpRequest): RequestedExtensions {
  const headers = Object.values(EXTENSION_HEADERS).filter(
    (name) => request.headers[name.toLowerCase()] !== undefined,
  );
  const values = headers.flatMap((name) => request.headers[name.toLowerCase()] ?? []);
  return { uris: new Set(parseExtensionList(headers.join(" and "), values)), headers };
}
