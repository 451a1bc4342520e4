import { spawn } from "node:child_process";
import { once } from "node:events";

export interface NpmScriptOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the output while the script runs. */
  readonly onOutput?: (text: string) => void;
}

export interface NpmScriptEnd {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs a script of the package.json, and collects what it prints. */
export async function runNpmScript(
  script: string,
  { args = [], env = {}, onOutput }: NpmScriptOptions = {},
): Promise<NpmScriptEnd> {
  const child = spawn("npm", ["run", "--silent", script, "--", ...args], {
    env: { ...process.env, ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onOutput?.(text);
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
