import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { followRedirects } from "./http/follow-redirects.ts";
import { methodOf } from "./http/method-of.ts";
import type { HttpAnswer, HttpCall } from "./http/http-client.ts";
import { checkUrl } from "./check-url.ts";
import { withDeadline } from "./deadline.ts";
import { createDestinationRule } from "./destination-rule.ts";
import type { Egress } from "./egress.ts";
import { exchange } from "./exchange.ts";
import { Http2Sessions } from "./http2-sessions.ts";
import { KeptConnections } from "./kept-connections.ts";
import { createPinnedLookup } from "./pinned-lookup.ts";
import { type Resolve, systemResolve } from "./resolve-host.ts";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { EgressError } from "./egress-error.ts";

/** Enough to say what went wrong; more than that nobody reads. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * What belongs to the connection. Whoever could choose these would reach
 * another site behind the same address, or a second request inside the first.
 */
const OWN_HEADERS = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Longer than any sane handshake; a machine that drops packets says nothing at all. */
const CONNECT_TIMEOUT_MS = 10_000;

export interface EgressOptions {
  /**
   * What may be reached although it is not public: `host`, `host:port`,
   * `*.example.internal` (its subdomains only), an address, or a range such as
   * `10.0.0.0/8`. A listed host may lead to any address; a listed address may
   * be reached by any name. Nothing by default.
   */
  readonly allow?: readonly string[];
  /**
   * URLs that the operator gave, in code, configuration or on a command line.
   * Their origins, and no other, may be anywhere. Never what a card, an answer
   * or a caller names.
   */
  readonly trusted?: readonly string[];
  /** How long a connection may take to open; by default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Finds the addresses of a name; by default the system does. */
  readonly resolve?: Resolve;
}

/**
 * The egress policy. Each connection resolves its host anew, judges every
 * address that came back, and goes to those and no others. Later requests to
 * the same origin may use it again: it leads where it was judged to lead.
 */
export function createEgress(options: EgressOptions = {}): Egress {
  const mayReach = createDestinationRule(options.allow ?? [], options.trusted);
  const connections = new KeptConnections();
  const way = {
    connections,
    lookup: createPinnedLookup(options.resolve ?? systemResolve, mayReach),
    connectTimeoutMs: Math.min(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, MAX_TIMER_MS),
  };
  const sessions = new Http2Sessions(way);

  async function ask(call: HttpCall, isRepeatable: boolean): Promise<HttpAnswer> {
    const url = checkUrl(call.url, mayReach);
    const { headers = {}, body, signal } = call;
    checkHeaders(headers);
    signal?.throwIfAborted();
    return exchange(way, { url, method: methodOf(call), headers, body, signal, isRepeatable });
  }

  return {
    check: (url) => checkUrl(url, mayReach),
    request: (call) => followRedirects(call, (one) => ask(one, methodOf(call) === "GET")),
    async post(url, { headers, body, timeoutMs, signal }) {
      const { host } = checkUrl(url, mayReach);
      return withDeadline({ host, timeoutMs, signal }, async (stop) => {
        const answer = await ask({ method: "POST", url, headers, body, signal: stop }, true);
        return {
          status: answer.status,
          headers: answer.headers,
          body: await readBody(answer.body),
        };
      });
    },
    openHttp2: async (url, { signal } = {}) => sessions.open(checkUrl(url, mayReach), signal),
    close() {
      connections.close();
      sessions.close();
    },
  };
}

/** Refuses headers that cannot be sent, naming them but never their values. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw new EgressError("malformed", `the header "${name}" is set here; leave it out`);
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (error) {
      throw new EgressError(
        "malformed",
        `the header ${JSON.stringify(name)} cannot be sent; its name must be a token and its value visible ASCII`,
        { cause: error },
      );
    }
  }
}

/** The beginning of a body as text. What is too long is left unread, and its connection closed. */
async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MAX_BODY_BYTES) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
  // As if more were to come, so that a character cut in two is left out.
  return new TextDecoder().decode(bytes, { stream: true });
}
