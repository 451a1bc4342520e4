import {
  type Command,
  type CommandContext,
  type CommandGroup,
  EXIT,
  UsageError,
} from "../terminal/command.ts";
import { writeFileSync } from "node:fs";
import { type CardAlgorithm, type CardKey, generateCardKey } from "@convoke/protocol";

const ALGORITHMS = ["ES256", "ES384", "EdDSA"] as const satisfies readonly CardAlgorithm[];

const keysCardCommand: Command = {
  name: "keys card",
  summary: "Create a key that signs the card of an agent",
  usage: "[options]",
  examples: [
    "convoke keys card --out card-key.json",
    "CONVOKE_CARD_KEY=card-key.json convoke serve agent.ts",
  ],
  options: {
    out: { type: "string", value: "<file>", help: "The file to write (card-key.json)" },
    alg: { type: "string", value: "<name>", help: `One of ${ALGORITHMS.join(", ")} (ES256)` },
  },
  run: keysCard,
};

export const keysCommands: CommandGroup = {
  name: "keys",
  summary: "Create keys for a server",
  commands: [keysCardCommand],
};

async function keysCard(context: CommandContext): Promise<number> {
  if (context.positionals.length > 0) throw new UsageError("convoke keys card takes no arguments.");
  const file = context.text("out") ?? "card-key.json";
  const alg = readAlgorithm(context.text("alg") ?? "ES256");
  const { kid, privateKey } = await generateCardKey(alg);
  writeNew(file, `${JSON.stringify({ kid, alg, privateKey } satisfies CardKey, undefined, 2)}\n`);
  context.io.stdout(
    `${file} signs cards as ${kid}. Keep it secret, and serve with CONVOKE_CARD_KEY=${file}\n`,
  );
  return EXIT.done.code;
}

function readAlgorithm(value: string): CardAlgorithm {
  const alg = ALGORITHMS.find((name) => name === value);
  if (alg !== undefined) return alg;
  throw new UsageError(`--alg must be one of ${ALGORITHMS.join(", ")}, not "${value}".`);
}

/** For its owner alone, and never over a key that may be in use. */
function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`${file} exists already; choose another name with --out.`);
  }
}
