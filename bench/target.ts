import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** A server under measurement, in a process of its own. */
export interface Target {
  readonly name: string;
  readonly url: string;
  /** CPU of all its threads since it started, in microseconds. */
  cpu(): Promise<number>;
  close(): void;
}

/** Starts `targets/<file>`; it reports its address, and its CPU whenever asked. */
export async function startTarget(
  name: string,
  file: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Target> {
  const child = fork(new URL(`./targets/${file}`, import.meta.url), {
    execArgv: ["--conditions=@convoke/source"],
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const { url } = (await nextMessage(child)) as { url: string };
  return {
    name,
    url,
    cpu: async () => {
      child.send("cpu");
      const { user, system } = (await nextMessage(child)) as NodeJS.CpuUsage;
      return user + system;
    },
    close: () => child.kill("SIGKILL"),
  };
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const [message] = (await once(child, "message")) as [unknown];
  return message;
}
