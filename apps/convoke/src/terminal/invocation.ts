import { basename, relative } from "node:path";
import { quoted } from "./command-line.ts";

/** How the user started this program, so that printed command lines can be pasted. */
export interface Invocation {
  /** The words before the name of a command, for example `npx convoke`. */
  readonly program: string;
  /** The npm script that was run, for example `npm start`. */
  readonly script?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Detects how the program was started, from the path that Node was given and the variables that npm
 * sets. The variables are inherited by everything that a script starts, so they count only if the
 * script itself runs `convoke`.
 */
export function detectInvocation(path: string, env: Environment, cwd: string): Invocation {
  const { npm_lifecycle_event: event = "", npm_lifecycle_script: line = "" } = env;
  if (/(?:^|[\s;&|(])(["']?)convoke\1(?:\s|$)/.test(line)) {
    if (event === "npx") return { program: "npx convoke" };
    const script = event === "start" || event === "test" ? `npm ${event}` : `npm run ${event}`;
    return { program: "npx convoke", script };
  }
  // Started by its path in `node_modules/.bin`, which the PATH of a shell rarely contains.
  if (/[\\/]node_modules[\\/]\.bin[\\/]/.test(path)) return { program: "npx convoke" };
  if (/^convoke(?:\.cmd)?$/.test(basename(path))) return { program: "convoke" };
  const near = relative(cwd, path);
  return { program: `node ${quoted(near.startsWith("..") ? path : near)}` };
}

/** Replaces `convoke` before the name of a command with the words that really start it. */
export function asStarted(text: string, { program }: Invocation): string {
  return text.replaceAll(/(?<![\w./@-])convoke (?=[a-z<-])/g, () => `${program} `);
}
