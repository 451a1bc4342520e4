import {
  A2AError,
  type Caller,
  type ProtocolVersion,
  formatExtensionList,
  parseExtensionList,
} from "@convoke/protocol";
import type { App } from "./app.ts";
import type { HttpHeaders, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { declaredExtensions } from "@convoke/engine";

/** The active extensions of a request, and the headers of its response. */
export interface Activation {
  readonly extensions: ReadonlySet<string>;
  /** Echoes the active extensions. */
  readonly headers: HttpHeaders;
  /** Headers that interceptors add to the response. Absent if there are no interceptors. */
  readonly added?: Headers;
}

/** Used until the extensions of a request are known. */
export const NOTHING_ACTIVE: Activation = { extensions: new Set(), headers: {} };

interface ExtensionRequest {
  readonly request: HttpRequest;
  readonly caller: Caller;
  readonly version: ProtocolVersion;
}

/**
 * Activates the extensions that the request asks for and the agent declares. URIs are compared
 * exactly, because another version of an extension is another extension. Others are ignored
 * (1.0 §4.6.3).
 */
export async function activate(app: App, asking: ExtensionRequest): Promise<Activation> {
  const activation = asksForExtensions(asking.request)
    ? await findActive(app, asking)
    : NOTHING_ACTIVE;
  return app.operations === undefined ? activation : { ...activation, added: new Headers() };
}

/** The headers of 1.0 and 0.3. Over gRPC they are metadata with the same names (1.0 §10.2). */
const EXTENSION_HEADERS = { "1.0": "A2A-Extensions", "0.3": "X-A2A-Extensions" } as const;

function asksForExtensions({ headers }: HttpRequest): boolean {
  return headers["a2a-extensions"] !== undefined || headers["x-a2a-extensions"] !== undefined;
}

async function findActive(app: App, asking: ExtensionRequest): Promise<Activation> {
  const { uris, headers } = requestedExtensions(asking.request);
  if (uris.size === 0) return NOTHING_ACTIVE;
  const declared = new Set(declaredExtensions(app.agent.info).map(({ uri }) => uri));
  const isKnown = [...uris].every((uri) => declared.has(uri));
  if (!isKnown) for (const uri of await declaredOnExtendedCard(app, asking)) declared.add(uri);
  const extensions = new Set([...uris].filter((uri) => declared.has(uri)));
  if (extensions.size === 0) return NOTHING_ACTIVE;
  // The response uses the header names of the request, and the one of the protocol version.
  const names = new Set([EXTENSION_HEADERS[asking.version], ...headers]);
  const list = formatExtensionList(extensions);
  return {
    extensions,
    headers: Object.fromEntries([...names].map((name) => [name.toLowerCase(), list])),
  };
}

/** The extensions of the extended card; none if the caller must not read it. */
async function declaredOnExtendedCard(
  app: App,
  { request, caller }: ExtensionRequest,
): Promise<readonly string[]> {
  try {
    const facts = await app.extendedCardFor(request)?.(caller);
    return (facts?.capabilities.extensions ?? []).map(({ uri }) => uri);
  } catch (thrown) {
    if (A2AError.is(thrown)) return [];
    throw thrown;
  }
}

/** Adds the headers of interceptors, which cannot replace others, and of the active extensions. */
export function withHeaders(response: HttpResponse, activation: Activation): HttpResponse {
  const { headers, added } = activation;
  if (headers === NOTHING_ACTIVE.headers && added === undefined) return response;
  const all = { ...Object.fromEntries(added ?? []), ...response.headers, ...headers };
  return { ...response, headers: all };
}

/** The extensions that a request asks for, and the headers it uses for that. */
interface RequestedExtensions {
  readonly uris: ReadonlySet<string>;
  readonly headers: readonly string[];
}

/** Both headers are accepted in both versions, because clients mix them up. */
export function requestedExtensions(request: HttpRequest): RequestedExtensions {
  const headers = Object.values(EXTENSION_HEADERS).filter(
    (name) => request.headers[name.toLowerCase()] !== undefined,
  );
  const values = headers.flatMap((name) => request.headers[name.toLowerCase()] ?? []);
  return { uris: new Set(parseExtensionList(headers.join(" and "), values)), headers };
}
