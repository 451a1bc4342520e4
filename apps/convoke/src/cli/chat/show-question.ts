import type { Question } from "@convoke/client";
import { type A2APart, type Approval } from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import { coloursFor } from "../colours.ts";
import type { CommandIo } from "../command.ts";
import { advice as adviceFor } from "./decide.ts";

export interface ShownTo {
  readonly io: CommandIo;
  /** What is to be decided. */
  readonly approvals: readonly Approval[];
  readonly isPerson: boolean;
}

/** Shows what the agent waits for, and how to give it. */
export function showQuestion(question: Question, to: ShownTo): void {
  for (const line of linesOf(question, to)) to.io.stderr(`${line}\n`);
}

function linesOf(question: Question, { io, approvals, isPerson }: ShownTo): readonly string[] {
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
    ...approvals.flatMap(({ tool }, place) => {
      const call = `${tool.name} ${JSON.stringify(tool.arguments)}`;
      return approvals.length === 1 ? [] : [`  ${place + 1}  ${oneLine(call)}`];
    }),
    ...(isPerson && approvals.length > 0 ? [dim(adviceFor(approvals))] : []),
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
