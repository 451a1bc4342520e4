import type { Express } from "express";
import type { AddressInfo } from "node:net";

/** Serves an app on a free port of this machine. */
export async function listen(app: Express) {
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}
