import { type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A third-party server to check. */
export interface PeerServer {
  readonly url: string;
  /** The address of its gRPC, which has a separate port. */
  readonly grpcOrigin: string;
  close(): Promise<void>;
}

/** A listener on a separate port. */
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
