import { type RawCard, type SecurityScheme, readCardSecurity } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { type OAuthOptions, isScope, isWebUrl } from "./oauth-options.ts";
import { type OAuthHttp, signInError } from "./oauth-http.ts";

/** Where the tokens for an agent come from, and what they must be for. */
export interface TokenSource {
  /** The URL of the issuer. For a card that names only endpoints, their origin. */
  readonly issuer: string;
  /** The metadata of the issuer, if the card names them. */
  readonly metadataUrl?: string;
  /** The endpoints that the card lists. */
  readonly endpoints?: CardEndpoints;
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
}

/** The endpoints of a scheme `oauth2`, from all of its flows. */
export interface CardEndpoints {
  readonly token: string;
  readonly authorization?: string | undefined;
  readonly device?: string | undefined;
}

export interface SourceContext {
  /** The URL of the agent or MCP server that the user gave. */
  readonly url: string;
  readonly options: OAuthOptions;
}

/**
 * The source that a card names. Among the alternatives of the card, the first that OAuth alone can
 * meet (or OAuth and a client certificate); `undefined` if there is none.
 */
export function sourceFromCard(card: RawCard, context: SourceContext): TokenSource | undefined {
  const { schemes, requirements } = readCardSecurity(card);
  const alternatives =
    requirements.length > 0 ? requirements : Object.keys(schemes).map((name) => ({ [name]: [] }));
  const sources = alternatives.flatMap((alternative) => {
    const names = Object.keys(alternative).filter((name) => schemes[name]?.type !== "mutualTLS");
    const [name = "", ...others] = names;
    const scheme = schemes[name];
    if (scheme === undefined || others.length > 0) return [];
    const found = readScheme(scheme);
    return found === undefined ? [] : [withPurpose(found, alternative[name] ?? [], context)];
  });
  const { issuer } = context.options;
  const fitting = sources.find(
    ({ issuer: named }) => issuer === undefined || isSame(issuer, named),
  );
  if (fitting !== undefined || sources.length === 0) return fitting;
  // A card that names only endpoints does not name its issuer; the issuer's own metadata decide.
  const unnamed = sources.find(({ endpoints }) => endpoints !== undefined);
  if (unnamed !== undefined) return { ...unnamed, issuer: issuer! };
  throw otherIssuer(context, sources[0]!.issuer);
}

type Named = Pick<TokenSource, "issuer" | "metadataUrl" | "endpoints">;

function readScheme(scheme: SecurityScheme): Named | undefined {
  if (scheme.type === "openIdConnect") return fromMetadataUrl(scheme.openIdConnectUrl);
  if (scheme.type !== "oauth2") return undefined;
  const named = fromMetadataUrl(scheme.oauth2MetadataUrl);
  if (named !== undefined) return named;
  const flows = isObject(scheme.flows) ? Object.values(scheme.flows).filter(isObject) : [];
  const find = (field: string): string | undefined =>
    flows.map((flow) => flow[field]).find((url) => typeof url === "string" && isWebUrl(url)) as
      | string
      | undefined;
  const token = find("tokenUrl");
  if (token === undefined) return undefined;
  return {
    issuer: new URL(token).origin,
    endpoints: {
      token,
      authorization: find("authorizationUrl"),
      device: find("deviceAuthorizationUrl"),
    },
  };
}

const WELL_KNOWN = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)/;

/** The issuer is in the URL of its metadata (OpenID Connect Discovery §4, RFC 8414 §3). */
function fromMetadataUrl(text: unknown): Named | undefined {
  if (typeof text !== "string" || !isWebUrl(text)) return undefined;
  const { origin, pathname } = new URL(text);
  if (!WELL_KNOWN.test(pathname)) return undefined;
  return { issuer: `${origin}${pathname.replace(WELL_KNOWN, "")}`, metadataUrl: text };
}

/** Reads the metadata of a protected resource (RFC 9728), which a 401 names or which has its usual place. */
export async function sourceFromChallenge(
  challenge: string,
  http: OAuthHttp,
  context: SourceContext,
): Promise<TokenSource | undefined> {
  const fields = challengeFields(challenge);
  const named = fields.get("resource_metadata");
  const places = named !== undefined && isWebUrl(named) ? [named] : usualPlaces(context.url);
  for (const place of places) {
    const metadata = await readMetadata(place, http);
    if (metadata === undefined) continue;
    const scopes = fields.get("scope")?.split(" ") ?? metadata.scopes;
    return fromResource({ ...metadata, scopes }, context);
  }
  return undefined;
}

/** For a server that does not say where its tokens come from: the issuer that the user named. */
export function sourceFromOptions(context: SourceContext): TokenSource | undefined {
  const { issuer } = context.options;
  return issuer === undefined ? undefined : withPurpose({ issuer }, [], context);
}

/** The parameters of a `WWW-Authenticate` header (RFC 9110 §11.6.1), by their names in lower case. */
export function challengeFields(header: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [, name = "", quoted, plain = ""] of header.matchAll(
    /([a-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi,
  )) {
    fields.set(
      name.toLowerCase(),
      quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, "$1"),
    );
  }
  return fields;
}

function usualPlaces(url: string): readonly string[] {
  const { origin, pathname } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return [...new Set([`${root}${pathname.replace(/\/$/, "")}`, root])];
}

interface ResourceMetadata {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
}

async function readMetadata(url: string, http: OAuthHttp): Promise<ResourceMetadata | undefined> {
  const response = await http.fetch(url, { headers: { accept: "application/json" } });
  if (response.status !== 200) return undefined;
  const body: unknown = await response.json().catch(() => undefined);
  if (!isObject(body) || typeof body["resource"] !== "string") return undefined;
  const texts = (field: string): readonly string[] =>
    Array.isArray(body[field]) ? body[field].filter((item) => typeof item === "string") : [];
  const issuers = texts("authorization_servers").filter(isWebUrl);
  return { resource: body["resource"], issuers, scopes: texts("scopes_supported") };
}

function fromResource(metadata: ResourceMetadata, context: SourceContext): TokenSource | undefined {
  const { resource, issuers, scopes } = metadata;
  // Otherwise a server could ask for tokens that are for another one (RFC 9728 §3.3).
  if (!covers(resource, context.url)) {
    const { origin } = new URL(context.url);
    throw signInError(
      `the metadata of ${origin} are for another resource, so no token is requested`,
    );
  }
  const { issuer: wanted } = context.options;
  const issuer = issuers.find((one) => wanted === undefined || isSame(one, wanted));
  if (issuer !== undefined) return withPurpose({ issuer }, scopes, context, resource);
  if (issuers.length === 0) return undefined;
  throw otherIssuer(context, issuers[0]!);
}

/** Whether the URL is the resource or below it. */
function covers(resource: string, url: string): boolean {
  if (!isWebUrl(resource)) return false;
  const [outer, inner] = [new URL(resource), new URL(url)];
  const path = (at: URL) => `${at.pathname.replace(/\/$/, "")}/`;
  return outer.origin === inner.origin && path(inner).startsWith(path(outer));
}

function withPurpose(
  named: Named,
  scopes: readonly string[],
  { url, options }: SourceContext,
  resource = new URL(url).origin,
): TokenSource {
  return {
    ...named,
    scopes: options.scopes ?? scopes.filter(isScope),
    resource: options.resource === false ? undefined : (options.resource ?? resource),
  };
}

/** Issuers are compared as URLs: many write the slash at the end, and as many do not. */
function isSame(left: string, right: string): boolean {
  const spelled = (url: string) => new URL(url).href.replace(/\/$/, "");
  return spelled(left) === spelled(right);
}

function otherIssuer({ url, options }: SourceContext, named: string) {
  return signInError(
    `the agent at ${new URL(url).origin} wants tokens of ${named}, but you trust ${options.issuer}; ` +
      "nothing was sent. If the agent has moved to that issuer, sign in again or change the issuer",
  );
}
