import { type ClientHttp2Session, connect } from "node:http2";
import { type Socket, connect as connectNet, isIP } from "node:net";
import { TLSSocket, connect as connectTls } from "node:tls";
import { PROBE_AFTER_MS } from "./connection-life.ts";
import { describeProblem } from "./describe-problem.ts";
import { EgressError } from "./egress-error.ts";
import { hostOf, portOf } from "./host-of.ts";
import { tooSlow } from "./once-connected.ts";
import type { WayOut } from "./send.ts";

const NO_HTTP2 = { code: "ERR_HTTP2_ERROR" };

/**
 * Opens a session of HTTP/2: by ALPN with TLS, and by prior knowledge without.
 * It is open when the other side has sent its settings, which is the first sign
 * that it speaks HTTP/2 at all; until then nothing is asked of it.
 */
export function connectHttp2(way: WayOut, url: URL): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(way, url);
    let session: ClientHttp2Session | undefined;
    const fail = (error: unknown) => {
      clearTimeout(timer);
      (session ?? socket).destroy();
      reject(failureOf(url, error));
    };
    const timeoutMs = way.connectTimeoutMs;
    const timer = setTimeout(() => fail(tooSlow(url, timeoutMs)), timeoutMs);
    socket.on("error", fail);
    // Only now, because Node crashes when the socket of a new session is destroyed.
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
        fail(NO_HTTP2);
        return;
      }
      socket.off("error", fail);
      const opened = connect(url.origin, { createConnection: () => socket });
      session = opened;
      // Later errors go to the streams; without a listener they would end the process.
      opened.on("error", fail);
      opened.on("close", () => fail(NO_HTTP2));
      opened.once("remoteSettings", () => {
        clearTimeout(timer);
        resolve(opened);
      });
    });
  });
}

function openSocket(way: WayOut, url: URL): Socket {
  const host = hostOf(url);
  const options = {
    host,
    port: portOf(url),
    lookup: way.lookup(url),
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    noDelay: true,
  };
  if (url.protocol === "http:") return connectNet(options);
  const name = isIP(host) === 0 && { servername: host };
  return connectTls({ ...options, ...name, ALPNProtocols: ["h2"] });
}

function failureOf(url: URL, error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const message = `could not reach ${url.origin}: ${describeProblem(error)}`;
  return new EgressError("network", message, { cause: error, sent: false });
}
