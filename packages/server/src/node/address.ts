/** Where a server listens. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly isSecure?: boolean;
}

/** Addresses that mean "every interface" and so lead nowhere, each with one that leads here. */
const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ["", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
  ["[::]", "::1"],
]);

export function isWildcard(host: string): boolean {
  return LOOPBACK.has(host);
}

/** The address as a URL that can be called, with a trailing slash as agents' addresses have. */
export function urlOf({ host, port, isSecure = false }: ServerAddress): string {
  const name = LOOPBACK.get(host) ?? host;
  return `${isSecure ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}/`;
}
