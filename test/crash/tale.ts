import type { ScriptStep, ScriptTurn, ServedRequest } from "@convoke/runtime/testing";

/** What the model should do, as described by the user's message. */
export interface Tale {
  /** Identifies its requests among those of other tasks. */
  readonly id: string;
  /** The tools that each answer calls; the answer after the last repeats their results. */
  readonly calls: readonly (readonly ToolName[])[];
  /**
   * How long each answer pauses before its first chunk and in its middle, so that something can
   * happen there.
   */
  readonly pauseMs: number;
}

export type ToolName = "pay" | "ship" | "refund";

/** A request to the scripted model server, as its test sees it. */
export interface AskedOfModel {
  readonly id: string;
  /** How many answers the request already contained. */
  readonly answers: number;
  /** The complete transcript, as sent on the wire. */
  readonly messages: readonly ChatMessage[];
}

interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
}

/** The request, parsed as a chat completion. */
export function readRequest({ body, text }: ServedRequest): AskedOfModel & { readonly tale: Tale } {
  const tale = JSON.parse(text) as Tale;
  const messages = body["messages"] as readonly ChatMessage[];
  const answers = messages.filter(({ role }) => role === "assistant").length;
  return { id: tale.id, answers, messages, tale };
}

/** The output of the model: a pure function of its input, so that every run is the same. */
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

/** The complete output of the model for these tool results. */
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
