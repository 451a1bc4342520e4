/** Where a server listens. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** The address as a URL, with a trailing slash as agents' addresses have. */
export function urlOf({ host, port }: ServerAddress): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
}
