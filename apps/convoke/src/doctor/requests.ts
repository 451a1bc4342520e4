import { type EgressOptions, createEgress } from "@convoke/egress";
import { type HttpAnswer, type HttpCall, readText } from "@convoke/egress/http";
import { timeoutSignal } from "@convoke/protocol/internal";
import type { DiagnosisId } from "./diagnoses.ts";

export interface DoctorRequestOptions extends Pick<EgressOptions, "allow" | "resolve"> {
  /** The address that the user gave. Credentials are sent to its origin only. */
  readonly url: string;
  /** The credentials as headers. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Time limit of each request, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface DoctorCall extends Omit<HttpCall, "signal" | "redirects"> {
  /** Sends no credentials. */
  readonly isAnonymous?: boolean;
}

/** A whole response. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How long it took, in milliseconds. */
  readonly ms: number;
}

/** Clients read no larger card. */
const MAX_BYTES = 1024 * 1024;

/** The requests of an examination. Redirects are returned, never followed. */
export class DoctorRequests {
  readonly options: DoctorRequestOptions;

  constructor(options: DoctorRequestOptions) {
    this.options = options;
  }

  /** Sends a request on a connection of its own and reads the response. */
  async send(call: DoctorCall): Promise<Reply> {
    const [reply] = await this.sendAll([call]);
    return reply!;
  }

  /** Sends requests one after the other on the same connection, as far as the server keeps it. */
  async sendAll(calls: readonly DoctorCall[]): Promise<readonly Reply[]> {
    const egress = this.#egress();
    const replies: Reply[] = [];
    try {
      for (const call of calls) {
        const limit = timeoutSignal(this.options.timeoutMs);
        const signal = AbortSignal.any([this.options.signal, limit]);
        const start = performance.now();
        try {
          const answer = await egress.request(this.#prepared(call, signal));
          const text = await readText(answer, signal, MAX_BYTES);
          const { status, headers } = answer;
          replies.push({ status, headers, text, ms: performance.now() - start });
        } catch (error) {
          this.options.signal.throwIfAborted();
          throw limit.aborted ? new NoAnswer(this.options.timeoutMs) : error;
        }
      }
      return replies;
    } finally {
      egress.close();
    }
  }

  /** Opens a response whose body is read as it arrives, with no time limit but that of the signal. */
  async open(call: DoctorCall, signal: AbortSignal): Promise<HttpAnswer> {
    const egress = this.#egress();
    try {
      return await egress.request(this.#prepared(call, signal));
    } finally {
      // Connections in use stay open until their response has been read.
      egress.close();
    }
  }

  /** Whether a session of HTTP/2 can be opened. Rejects with the network error otherwise. */
  async openHttp2(url: string): Promise<void> {
    const egress = this.#egress();
    const limit = timeoutSignal(this.options.timeoutMs);
    try {
      const signal = AbortSignal.any([this.options.signal, limit]);
      await egress.openHttp2(url, { signal });
    } catch (error) {
      this.options.signal.throwIfAborted();
      throw limit.aborted ? new NoAnswer(this.options.timeoutMs) : error;
    } finally {
      egress.close();
    }
  }

  #egress() {
    const { url, allow, resolve } = this.options;
    return createEgress({
      trusted: [url],
      ...(allow && { allow }),
      ...(resolve && { resolve }),
    });
  }

  #prepared({ isAnonymous = false, ...call }: DoctorCall, signal: AbortSignal): HttpCall {
    const { url, credentials } = this.options;
    const isOwn = new URL(call.url).origin === new URL(url).origin;
    const own = isOwn && !isAnonymous ? credentials : {};
    return { ...call, headers: { ...own, ...call.headers }, redirects: "answer", signal };
  }
}

/** The time limit of a request expired. */
class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";

  constructor(timeoutMs: number) {
    super(`no response within ${timeoutMs / 1000} s`);
  }
}

/** The codes of Node and OpenSSL, by what they mean to a user. */
const NETWORK_CODES: Readonly<Record<string, DiagnosisId>> = {
  ENOTFOUND: "dns-no-address",
  ENODATA: "dns-no-address",
  EAI_AGAIN: "dns-no-address",
  ECONNREFUSED: "connection-refused",
  ETIMEDOUT: "no-answer",
  EHOSTUNREACH: "no-answer",
  ENETUNREACH: "no-answer",
  ECONNRESET: "connection-reset",
  EPIPE: "connection-reset",
  CERT_HAS_EXPIRED: "tls-expired",
  CERT_NOT_YET_VALID: "tls-expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls-untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "tls-untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "tls-untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls-untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls-untrusted",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls-wrong-host",
  EPROTO: "https-for-http",
};

/** The diagnosis for a request without a response; `undefined` if the egress policy rejected it. */
export function networkDiagnosis(error: unknown): DiagnosisId | undefined {
  const { kind, reason } = (error ?? {}) as { readonly kind?: string; readonly reason?: string };
  if (kind === "refused") return undefined;
  const code = codeOf(error);
  if (code === undefined) return reason === "network" ? "dns-no-address" : "no-answer";
  if (code.startsWith("ERR_SSL_")) return "https-for-http";
  return NETWORK_CODES[code] ?? (code.startsWith("HPE_") ? "not-http" : "connection-reset");
}

/** The system's code of an error, which is often hidden in its causes. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  return typeof code === "string" ? code : codeOf(cause);
}

/** What happened, in the words of the error. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
