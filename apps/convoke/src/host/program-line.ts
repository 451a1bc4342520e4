import type { ProcessEntry } from "@convoke/host";
import { agentIdFrom } from "@convoke/protocol/internal";
import { basename } from "node:path";

/** A word of a command line, which may be in quotes. */
const WORD = /"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<plain>[^\s"']+)/g;

/** The program of a command line, and the id of its agent. */
interface Program extends Pick<ProcessEntry, "command" | "args" | "protocol"> {
  readonly id: string;
}

/**
 * Parses a command line such as `gemini --acp`. The id is the name of the program, or of the package
 * that npx runs. A program speaks ACP if a word says so, otherwise JSON lines.
 */
export function parseProgram(line: string): Program | undefined {
  const words = Array.from(line.matchAll(WORD), ({ groups = {} }) =>
    String(groups["double"] ?? groups["single"] ?? groups["plain"]),
  );
  const [command, ...args] = words;
  if (command === undefined) return undefined;
  const isNpx = basename(command) === "npx";
  const named = (isNpx && args.find((word) => !word.startsWith("-"))) || command;
  const id = agentIdFrom(basename(named).replace(/\.\w+$/, ""));
  const isAcp = words.some((word) => /\bacp\b/.test(word));
  return { id, command, args, protocol: isAcp ? "acp" : "json-lines" };
}
