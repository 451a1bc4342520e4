import { mkdtempSync, rmSync } from "node:fs";
import { type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The name of the socket of a server on the default port. */
const SOCKET = ".s.PGSQL.5432";

/** Forwards connections to the database, and can lose what the database answers. */
export interface CutConnection {
  readonly url: string;
  /** From now on answers are lost, until the connections are cut. */
  loseAnswers(): void;
  /** Ends all connections. Later ones work again. */
  cut(): void;
}

/** A connection to the database that can be cut. It ends with the test. */
export async function aCutConnection(url: string): Promise<CutConnection> {
  const target = new URL(url);
  const real = join(target.searchParams.get("host")!, SOCKET);
  const folder = mkdtempSync(join(tmpdir(), "convoke-cut-"));
  const open = new Set<Socket>();
  let isLosing = false;
  const server = createServer((client) => {
    const upstream = connect(real);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on("data", (data) => {
        if (one === client || !isLosing) other.write(data);
      });
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(join(folder, SOCKET), resolve));
  const cut = (): void => {
    isLosing = false;
    for (const socket of open) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  target.searchParams.set("host", folder);
  return {
    url: target.href,
    loseAnswers: () => {
      isLosing = true;
    },
    cut,
  };
}
