import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Redirect } from "../oauth/oauth-options.ts";

export type { Redirect };

const PATH = "/callback";

const PAGE =
  '<!doctype html><html lang="en"><title>Convoke</title>' +
  "<p>You can close this window and return to the program.</p></html>";

/**
 * Listens on a free port of this machine until the browser returns from the issuer (RFC 8252 §7.3). Pass
 * it as `signIn.openRedirect`.
 */
export async function openLoopbackRedirect(): Promise<Redirect> {
  let accept: (url: URL) => void;
  const returned = new Promise<URL>((resolve) => (accept = resolve));
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const isAnswer = request.method === "GET" && url.pathname === PATH;
    response
      .writeHead(isAnswer ? 200 : 404, {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        connection: "close",
      })
      .end(isAnswer ? PAGE : "");
    if (isAnswer) accept(url);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${PATH}`,
    returned,
    close: () => void server.close(),
  };
}
