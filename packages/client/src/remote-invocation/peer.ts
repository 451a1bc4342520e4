import { createOutbound } from "#outbound";
import { AgentHttp } from "../auth/agent-http.ts";
import { createCredentials } from "../auth/create-credentials.ts";
import type { Auth } from "../auth/auth.ts";
import type { Clock } from "./clock.ts";
import { ValidationError } from "./errors.ts";

/** Who calls an agent, and where the call may lead. */
export interface PeerOptions {
  /** A bearer token, for the origin of the given URL only. Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Any other way to say who is calling, bound to the same origin. */
  readonly auth?: Auth | undefined;
  /**
   * False for a URL that comes from a model or from the network: then it may lead
   * to public addresses only. By default it is yours and may lead anywhere.
   */
  readonly trusted?: boolean | undefined;
  /** What else may be reached although it is not public: `host`, `host:port`, an address or a range. */
  readonly allow?: readonly string[] | undefined;
  /** When it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** For tests; by default the time of this machine. */
  readonly clock?: Clock | undefined;
}

/** The way to one agent. */
export interface Peer {
  readonly http: AgentHttp;
  /** Closes connections that are kept for later. */
  close(): void;
}

/** Opens nothing yet. Each request goes out by the egress policy. */
export function openPeer(base: string, options: PeerOptions): Peer {
  const { token, auth, trusted = true, allow } = options;
  const { origin } = new URL(base);
  refuseUnboundCredentials(options);
  const credentials = createCredentials({ auth, token, origin });
  const given = [auth?.origin ?? []].flat();
  const client = createOutbound({ trusted: trusted ? [origin, ...given] : given, allow });
  return {
    http: new AgentHttp({ client, version: "1.0", credentials }),
    close: () => client.close(),
  };
}

/** A model that may name any address could have the credentials sent to its own. */
export function refuseUnboundCredentials({ token, auth, trusted = true }: PeerOptions): void {
  const hasCredentials = token !== undefined || auth !== undefined;
  if (trusted || !hasCredentials || auth?.origin !== undefined) return;
  throw new ValidationError(
    "credentials for a URL that is not trusted must name the origin that they are for; " +
      "use auth: { …, origin }",
    { field: "auth.origin" },
  );
}
