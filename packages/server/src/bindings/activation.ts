import {
  A2AError,
  type Caller,
  type ProtocolVersion,
  formatExtensionList,
} from "@convoke/protocol";
import type { App } from "../app.ts";
import type { HttpHeaders, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { declaredExtensions } from "@convoke/engine";
import { EXTENSION_HEADERS, requestedExtensions } from "./requested-extensions.ts";

/** Which extensions are active for one request, and how its answer says so. */
export interface Activation {
  readonly extensions: ReadonlySet<string>;
  readonly headers: HttpHeaders;
}

/** What holds for a request until it is known what it asks for. */
export const NOTHING_ACTIVE: Activation = { extensions: new Set(), headers: {} };

interface Activating {
  readonly request: HttpRequest;
  readonly caller: Caller;
  readonly version: ProtocolVersion;
}

/**
 * Active is what was asked for and is declared, URI by URI: another version of an extension is
 * another extension, and what nobody declares is ignored (1.0 §4.6.3).
 */
export async function activate(app: App, activating: Activating): Promise<Activation> {
  const { uris, headers } = requestedExtensions(activating.request);
  if (uris.size === 0) return NOTHING_ACTIVE;
  const declared = new Set(declaredExtensions(app.engine.agent.info).map(({ uri }) => uri));
  const isKnown = [...uris].every((uri) => declared.has(uri));
  if (!isKnown) for (const uri of await declaredToKnown(app, activating)) declared.add(uri);
  const extensions = new Set([...uris].filter((uri) => declared.has(uri)));
  if (extensions.size === 0) return NOTHING_ACTIVE;
  // Who wrote a name reads that name, and everyone reads that of their version.
  const names = new Set([EXTENSION_HEADERS[activating.version], ...headers]);
  const list = formatExtensionList(extensions);
  return {
    extensions,
    headers: Object.fromEntries([...names].map((name) => [name.toLowerCase(), list])),
  };
}

/** What the extended card declares. A caller who may not read it is told nothing of it. */
async function declaredToKnown(
  app: App,
  { request, caller }: Activating,
): Promise<readonly string[]> {
  try {
    const facts = await app.extendedCardFor(request)?.(caller);
    return (facts?.capabilities.extensions ?? []).map(({ uri }) => uri);
  } catch (thrown) {
    if (A2AError.is(thrown)) return [];
    throw thrown;
  }
}

/** The answer with what is active. */
export function echoed(response: HttpResponse, { headers }: Activation): HttpResponse {
  return headers === NOTHING_ACTIVE.headers
    ? response
    : { ...response, headers: { ...response.headers, ...headers } };
}
