import type { Question } from "@convoke/client";
import type { A2APart } from "@convoke/protocol";
import { coloursFor } from "../colours.ts";
import type { CommandIo } from "../command.ts";
import { oneLine, printable } from "../printable.ts";

/** Shows what the agent waits for, and how to give it. */
export function showQuestion(question: Question, io: CommandIo, isPerson: boolean): void {
  for (const line of linesOf(question, io, isPerson)) io.stderr(`${line}\n`);
}

function linesOf(question: Question, io: CommandIo, isPerson: boolean): readonly string[] {
  const { bold, dim, yellow } = coloursFor(io, "stderr");
  const { kind, text, options = [], message } = question;
  if (kind === "auth-required") {
    const addresses = addressesIn(message?.parts ?? []).filter((url) => !text.includes(url));
    const advice = "When that is done, press Enter to look again, or say so to the agent.";
    return [
      yellow(printable(text || "The agent waits for an authorization.")),
      ...addresses.map((url) => `Open: ${oneLine(url, 2000)}`),
      ...(isPerson ? [dim(advice)] : []),
    ];
  }
  const width = String(options.length).length;
  const advice = "Type a number, or an answer of your own.";
  return [
    bold(printable(text || "The agent waits for your answer.")),
    ...options.map((option, place) => `  ${String(place + 1).padStart(width)}  ${oneLine(option)}`),
    ...(isPerson && options.length > 0 ? [dim(advice)] : []),
  ];
}

/** A2A has no field for where to authorize; agents put the address into the text or into data. */
function addressesIn(parts: readonly A2APart[]): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string" && /^https?:\/\/\S+$/.test(value)) found.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  for (const part of parts) if (part.kind === "data") look(part.data);
  return [...found];
}
