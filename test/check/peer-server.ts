import { type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Somebody else's server, to be checked. */
export interface PeerServer {
  readonly url: string;
  /** Where its gRPC is, which has a port of its own. */
  readonly grpcOrigin: string;
  close(): Promise<void>;
}

/** A listener on a port of its own. */
export async function listenOn(
  listener: RequestListener,
): Promise<Pick<PeerServer, "url" | "close">> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
