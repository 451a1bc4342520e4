import { readFileSync } from "node:fs";
import type { CardKey } from "@convoke/protocol";
import type { CardOptions } from "@convoke/server";
import { StartError } from "./start-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What signs the card, if anything does. */
export function readCard(env: Environment): CardOptions {
  const file = env["CONVOKE_CARD_KEY"] || undefined;
  return file === undefined ? {} : { keys: [readKey(file)] };
}

function readKey(file: string): CardKey {
  const fix = "make one with: convoke keys card";
  let key: Partial<CardKey>;
  try {
    key = JSON.parse(readFileSync(file, "utf8")) as Partial<CardKey>;
  } catch (error) {
    const why = error instanceof SyntaxError ? "is no JSON" : "cannot be read";
    throw new StartError(`CONVOKE_CARD_KEY: ${file} ${why}; ${fix}.`, { cause: error });
  }
  const { kid, alg, privateKey } = key;
  if (typeof kid === "string" && alg !== undefined && typeof privateKey === "object") {
    return { kid, alg, privateKey };
  }
  throw new StartError(`CONVOKE_CARD_KEY: ${file} has no kid, alg and privateKey; ${fix}.`);
}
