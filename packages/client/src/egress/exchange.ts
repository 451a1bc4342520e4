import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type LookupFunction, isIP } from "node:net";
import type { EgressRequest, EgressResponse } from "./egress.ts";
import { EgressError } from "./egress-error.ts";
import { hostOf, portOf } from "./host-of.ts";
import { problemOf } from "./problem-of.ts";
import { readBody } from "./read-body.ts";

export interface Exchange {
  readonly url: URL;
  /** The only addresses to connect to. */
  readonly addresses: readonly string[];
  readonly request: Pick<EgressRequest, "headers" | "body">;
  readonly signal: AbortSignal;
}

/** Sends the request over a connection of its own and reads the answer. */
export async function exchange({
  url,
  addresses,
  request,
  signal,
}: Exchange): Promise<EgressResponse> {
  try {
    const response = await send({ url, addresses, request, signal });
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      body: await readBody(response),
    };
  } catch (error) {
    throw new EgressError("network", `no answer from "${url.host}": ${problemOf(error)}`, {
      cause: error,
    });
  }
}

function send({ url, addresses, request, signal }: Exchange): Promise<IncomingMessage> {
  const host = hostOf(url);
  return new Promise((resolve, reject) => {
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const sent = open({
      method: "POST",
      host,
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      headers: { ...request.headers },
      lookup: pinnedTo(addresses),
      // Not from a pool: an open connection leads where some earlier check looked. Nor by a proxy, which would look up the name again.
      agent: false,
      // The certificate must be that of the name, whatever address is behind it.
      ...(isIP(host) === 0 && { servername: host }),
      signal,
    });
    sent.on("response", resolve);
    sent.on("error", reject);
    // For connections that end without a word, as those which switch protocols do. After an answer it changes nothing.
    sent.on("close", () => reject(new Error("the connection was closed")));
    sent.end(request.body);
  });
}

/** Stands in for DNS: between the check and the connection a name cannot move. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const pins = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, found) => {
    const [first] = pins;
    if (options.all || first === undefined) found(null, pins);
    else found(null, first.address, first.family);
  };
}

function headersOf(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
  );
}
