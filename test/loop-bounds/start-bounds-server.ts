import { type RemoteAgent, connect } from "convoke";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import type { BoundsFacts } from "./bounds-server.ts";

/** How much memory the server may take. It takes about 130 MB by itself. */
export const MOST_MB = 400;

interface BoundsServer {
  readonly agent: RemoteAgent;
  readonly facts: () => Promise<BoundsFacts>;
}

/** Starts the server in a process of its own, which ends with the test. */
export async function startBoundsServer(): Promise<BoundsServer> {
  const data = join(temporaryFolder(), "data");
  const child = fork(new URL("./bounds-server.ts", import.meta.url), [data], {
    execArgv: ["--conditions=@convoke/source"],
  });
  onTestFinished(async () => {
    const gone = once(child, "exit");
    child.disconnect();
    await gone;
  });
  const { url } = await word<{ readonly url: string }>(child);
  return {
    agent: await connect(url),
    facts: () => {
      const said = word<BoundsFacts>(child);
      child.send("facts?");
      return said;
    },
  };
}

/** The next message of the process. */
async function word<T>(child: ChildProcess): Promise<T> {
  return ((await once(child, "message")) as [T])[0];
}
