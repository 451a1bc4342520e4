import { type A2APart, invalidParams, toolResult } from "@convoke/protocol";
import type { InterruptAnswer } from "../tools/tool.ts";
import type { OpenRequest } from "./open-request.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Place {
  readonly field: string;
  /** What the answer came in: one part of the message, or all of them. */
  readonly part?: A2APart;
  readonly parts?: readonly A2APart[];
}

/** Stands in the log where an answer must not. A later attempt finds it there, and asks again. */
export const REDACTED = "redacted";

/**
 * The answer to a question or a sign-in, or what a tool of the caller came to, for the tool that
 * asked. A sensitive one that only its placeholder is left of is no answer.
 */
export function inputAnswer(
  open: readonly OpenRequest[],
  data: Fields,
  place: Place,
): { readonly requestId: string; readonly answer: InterruptAnswer | undefined } {
  const { field } = place;
  const name = data["requestId"] === undefined ? "toolUseId" : "requestId";
  const requestId = data[name];
  const request = open.find((one) => one.kind !== "approval" && one.requestId === requestId);
  if (request === undefined || typeof requestId !== "string") {
    throw invalidParams(`${field}.${name}`, "is nothing that this task waits for");
  }
  if (request.kind === "tool-use") {
    if (name === "requestId") {
      throw invalidParams(`${field}.requestId`, "is a tool's call: send its result by toolUseId");
    }
    return { requestId, answer: { text: "", parts: [], result: toolResult(data, field) } };
  }
  if (data[REDACTED] === true) return { requestId, answer: undefined };
  const text = answerText(data);
  const parts = place.parts ?? (place.part === undefined ? [] : [place.part]);
  const options = request.kind === "input" ? request.options : undefined;
  if (options === undefined) return { requestId, answer: { text, parts } };
  const given = text.trim().toLowerCase();
  const chosen = options.find((option) => option.toLowerCase() === given);
  if (chosen === undefined) {
    throw invalidParams(field, `must answer with one of ${options.join(", ")}`);
  }
  return { requestId, answer: { text: chosen, parts } };
}

/** The words of an answer, wherever they are; anything else as JSON. */
function answerText(data: Fields): string {
  const { value, text, result, error } = data;
  const inner = (result as { readonly value?: unknown } | null | undefined)?.value;
  const given = value ?? text ?? inner ?? result ?? error;
  if (given === undefined) return "";
  return typeof given === "string" ? given : JSON.stringify(given);
}
