import type { AnswerHead } from "./read-error.ts";

export function isOk({ status }: AnswerHead): boolean {
  return status >= 200 && status < 300;
}

export function isEventStream({ headers }: AnswerHead): boolean {
  return headers["content-type"]?.toLowerCase().startsWith("text/event-stream") === true;
}
