import type { Caller } from "@convoke/protocol";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { type AuthRequest, type Authenticator, unauthenticated } from "./authenticator.ts";

/** What a verified client certificate says. */
export interface ClientCertificate extends Pick<
  PeerCertificate,
  "subject" | "issuer" | "subjectaltname" | "fingerprint256" | "serialNumber" | "valid_to"
> {}

export interface MtlsOptions {
  /**
   * Who the holder of a certificate is. Return `undefined` to reject it. Default: the owner is the
   * first URI among its alternative names (as in SPIFFE), otherwise the common name of its subject.
   */
  readonly identify?: (certificate: ClientCertificate) => Caller | undefined;
}

/**
 * Accepts client certificates that were signed by one of the authorities in `tls.ca` of `serve`. In
 * an app that owns the port, its TLS server must have `requestCert` and `ca`.
 *
 * @example
 * serve(agent, { tls: { cert, key, ca: clientAuthority }, auth: [mtls()] });
 */
export function mtls({ identify = byName }: MtlsOptions = {}): Authenticator {
  const callers = new WeakMap<object, Caller>();
  return {
    schemes: { mtls: { type: "mutualTLS" } },
    isOfConnection: true,
    authenticate(request) {
      const connection = connectionOf(request);
      if (connection === undefined) return undefined;
      const known = callers.get(connection.key);
      if (known !== undefined) return known;
      const certificate = connection.socket.getPeerCertificate();
      if (Object.keys(certificate).length === 0) return undefined;
      if (!connection.socket.authorized)
        throw unauthenticated("the client certificate is not trusted");
      const caller = identify(certificate);
      if (caller === undefined) throw unauthenticated("the client certificate is not known here");
      callers.set(connection.key, caller);
      return caller;
    },
  };
}

interface Connection {
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerCertificate">;
  /** The same object for all requests of the connection. */
  readonly key: object;
}

/** The TLS connection of a request. Requests of one HTTP/2 connection have their session in common. */
function connectionOf({ node }: AuthRequest): Connection | undefined {
  if (node === undefined) return undefined;
  const { stream } = node as { readonly stream?: { readonly session?: object } };
  const socket = node.socket as Partial<TLSSocket>;
  if (typeof socket.getPeerCertificate !== "function") return undefined;
  return { socket: socket as TLSSocket, key: stream?.session ?? socket };
}

function byName({ subject, subjectaltname = "" }: ClientCertificate): Caller | undefined {
  const uri = /(?:^|, )URI:([^,"]+)(?=,|$)/.exec(subjectaltname)?.[1];
  const { CN: name } = subject;
  const owner = uri ?? (typeof name === "string" ? name : undefined);
  return owner === undefined || owner === "" ? undefined : { owner };
}
