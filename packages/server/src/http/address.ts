import { type HttpRequest, header } from "./exchange.ts";

/** Where a server listens. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly isSecure?: boolean;
}

/** Addresses that mean "all interfaces", which cannot be called, each with one that can. */
const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ["", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
  ["[::]", "::1"],
]);

export function isWildcard(host: string): boolean {
  return LOOPBACK.has(host);
}

/** The address as a URL that can be called, with a trailing slash like all agent URLs. */
export function toUrl({ host, port, isSecure = false }: ServerAddress): string {
  const name = LOOPBACK.get(host) ?? host;
  return `${isSecure ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}/`;
}

/** Validates a base path and removes trailing slashes. Empty for the root. */
export function checkBasePath(given = ""): string {
  const path = given.replace(/\/+$/, "");
  if (path === "" || /^(?:\/[\w.~!$&'()+,;=:@%-]+)+$/.test(path)) return path;
  throw new TypeError(
    `basePath must be a path from the root, as in "/agent", not ${JSON.stringify(given)}`,
  );
}

/**
 * Removes the base path. Some frameworks and proxies remove it themselves, so it
 * may be missing.
 */
export function stripBasePath(path: string, basePath: string): string {
  if (basePath === "" || !path.startsWith(basePath)) return path;
  const below = path.slice(basePath.length);
  if (below === "") return "/";
  return below.startsWith("/") ? below : path;
}

/** How the client reached the proxy in front of the server. */
interface ForwardedAddress {
  readonly protocol: "http" | "https";
  readonly host: string;
}

/**
 * Parses the headers of a trusted proxy: `Forwarded` (RFC 7239), or the older
 * `X-Forwarded-Proto` and `X-Forwarded-Host`. With several proxies, the first
 * value is the one of the client.
 */
export function parseForwarded(request: HttpRequest): Partial<ForwardedAddress> {
  const standard = header(request, "forwarded")?.split(",")[0];
  const fields = new Map(
    (standard ?? "").split(";").map((pair) => {
      const [name = "", value = ""] = pair.split("=");
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")] as const;
    }),
  );
  const protocol = fields.get("proto") ?? first(header(request, "x-forwarded-proto"));
  const host = fields.get("host") ?? first(header(request, "x-forwarded-host"));
  return {
    ...((protocol === "http" || protocol === "https") && { protocol }),
    ...(host !== undefined && /^[\w.[\]:-]+$/.test(host) && { host }),
  };
}

/**
 * The address of the client; `undefined` if the transport does not know it. A trusted proxy appends
 * the address that it saw to those that the client may have made up, so the last one counts.
 */
export function clientAddress(request: HttpRequest, trustProxy: boolean): string | undefined {
  const forwarded = trustProxy ? lastForwarded(request) : undefined;
  return forwarded ?? request.node?.socket?.remoteAddress;
}

function lastForwarded(request: HttpRequest): string | undefined {
  const standard = header(request, "forwarded")?.split(",").at(-1);
  const [, named] = /(?:^|;)\s*for="?([^";]+)"?/i.exec(standard ?? "") ?? [];
  const given = named ?? header(request, "x-forwarded-for")?.split(",").at(-1);
  // A port may follow: 192.0.2.1:4711, or [2001:db8::1]:4711.
  const [, bracketed, plain] =
    /^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+)(?::\d+)?)$/i.exec(given?.trim() ?? "") ?? [];
  if (bracketed !== undefined || plain !== undefined) return bracketed ?? plain;
  return /^[\da-f:.]+$/i.test(given?.trim() ?? "") ? given?.trim() : undefined;
}

function first(value: string | undefined): string | undefined {
  return value?.split(",")[0]?.trim().toLowerCase() || undefined;
}
