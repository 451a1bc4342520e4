import { once } from "node:events";
import { createServer } from "node:net";

/** Why the port cannot be listened on, as an error code; `undefined` if it is free. */
export async function portProblem(port: number, host: string): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  } finally {
    server.close();
  }
}
