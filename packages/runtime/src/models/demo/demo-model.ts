import type { Model } from "../model.ts";
import { playScript } from "../script/play-script.ts";
import { demoAnswer } from "./demo-answer.ts";

interface DemoOptions {
  /** Between the words, so that a person can watch them come. */
  readonly wordDelayMs?: number;
}

/**
 * A model without a key and without any AI, to see how everything works. It
 * knows a few commands, and answers the same request in the same way.
 */
export function demoModel({ wordDelayMs = 10 }: DemoOptions = {}): Model {
  return {
    id: "demo",
    stream: (request, signal) =>
      playScript({ steps: () => demoAnswer(request), wordDelayMs }, signal),
  };
}
