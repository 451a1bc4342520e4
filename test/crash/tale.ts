import type { ScriptStep, ScriptTurn, ServedRequest } from "@convoke/runtime/testing";

/** What the model is to do, as the user's message says it. */
export interface Tale {
  /** By which its requests are found among those of other tasks. */
  readonly id: string;
  /** The tools that each answer calls; the answer after the last says what they gave. */
  readonly calls: readonly (readonly ToolName[])[];
  /** How long each answer pauses before its first word and in its middle, so that something can happen there. */
  readonly pauseMs: number;
}

export type ToolName = "pay" | "ship" | "refund";

/** What the scripted model server was asked, as its test sees it. */
export interface AskedOfModel {
  readonly id: string;
  /** How many answers were in the request already. */
  readonly answers: number;
  /** The whole transcript, as it went over the wire. */
  readonly messages: readonly ChatMessage[];
}

interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
}

/** The request, read as a chat completion. */
export function readRequest({ body, text }: ServedRequest): AskedOfModel & { readonly tale: Tale } {
  const tale = JSON.parse(text) as Tale;
  const messages = body["messages"] as readonly ChatMessage[];
  const answers = messages.filter(({ role }) => role === "assistant").length;
  return { id: tale.id, answers, messages, tale };
}

/** What the model says: a pure function of what it is told, so that every run of a tale is the same. */
export function tell(request: ServedRequest): ScriptTurn {
  const { tale, answers, messages } = readRequest(request);
  const { calls, pauseMs } = tale;
  const wanted = calls[answers];
  const pause: ScriptStep = { kind: "delay", ms: pauseMs };
  if (wanted === undefined) {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    return [pause, say("Done: "), pause, say(results.join(", "))];
  }
  return [
    pause,
    say(`Answer ${answers + 1}: `),
    pause,
    say(`now ${wanted.join(" and ")}.`),
    ...wanted.map((toolName, place) => aCall(toolName, answers, place)),
  ];
}

/** What the model says in all, when each tool gave this. */
export function toldInAll({ calls }: Tale, results: readonly string[]): string {
  const answers = calls.map((wanted, place) => `Answer ${place + 1}: now ${wanted.join(" and ")}.`);
  return [...answers, `Done: ${results.join(", ")}`].join("\n\n");
}

function say(text: string): ScriptStep {
  return { kind: "text", text };
}

function aCall(toolName: ToolName, answer: number, place: number): ScriptStep {
  const toolCallId = `${toolName}-${answer + 1}-${place + 1}`;
  return { kind: "tool-call", toolName, toolCallId, input: { amount: 10 * answer + place } };
}
