import type { Socket } from "node:net";
import { EgressError } from "./egress-error.ts";

/** Calls back when a connection can be written to, and ends it when that takes too long. */
export function onceConnected(
  socket: Socket,
  { url, timeoutMs }: { readonly url: URL; readonly timeoutMs: number },
  connected: () => void,
): void {
  if (!isConnecting(socket)) {
    connected();
    return;
  }
  const timer = setTimeout(() => socket.destroy(tooSlow(url, timeoutMs)), timeoutMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
    clearTimeout(timer);
    connected();
  });
}

/** That no connection came about in time. */
export function tooSlow(url: URL, timeoutMs: number): EgressError {
  return new EgressError(
    "timeout",
    `could not reach ${url.origin}: there was no connection within ${timeoutMs} milliseconds`,
    { sent: false },
  );
}

/** Node says of TLS sockets by a property of their own that the handshake goes on. */
function isConnecting(socket: Socket & { readonly secureConnecting?: boolean }): boolean {
  return socket.connecting || socket.secureConnecting === true;
}
