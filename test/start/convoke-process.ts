import { fileURLToPath } from "node:url";
import { type Program, start } from "../harness/program.ts";

const BIN = fileURLToPath(new URL("../../apps/convoke/bin/convoke.js", import.meta.url));

export interface ConvokeOptions {
  /** Where it is started; nothing of the repository is in it. */
  readonly cwd: string;
  /** The arguments of `convoke`. Default: serve the demo agent. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that has reported that it is ready. */
export interface ServedProcess {
  readonly program: Program;
  /** Its URL, with a slash at the end. */
  readonly url: string;
  readonly port: number;
}

/** The environment that npm sets for a program that `npx convoke` starts. */
const BY_NPX = { npm_lifecycle_event: "npx", npm_lifecycle_script: "convoke serve" };

/** Starts the real command in its own process, on a free port by default. */
export function startConvoke({ cwd, args = ["serve"], env }: ConvokeOptions): Program {
  return start(process.execPath, [BIN, ...args], { cwd, env: { PORT: "0", ...BY_NPX, ...env } });
}

/** Starts it and waits until it is ready. */
export async function serveConvoke(options: ConvokeOptions): Promise<ServedProcess> {
  const program = startConvoke(options);
  // What a start prints is one write, but its last line makes sure that all of it has arrived.
  const page = await program.until((stdout) => /^Look at +(\S+)[^]*^Type .*\n/m.exec(stdout)?.[1]);
  const url = new URL("/", page);
  return { program, url: url.href, port: Number(url.port) };
}
