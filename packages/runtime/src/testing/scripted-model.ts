import { ModelError } from "../model/model-error.ts";
import type { Model, ModelPrice, ModelRequest } from "../model/model.ts";
import { playScript } from "../models/script/play-script.ts";
import { type ScriptTurn, stepsOf } from "../models/script/script-step.ts";

/** The answer to one request, or a function that chooses it by the request. */
export type ScriptedTurn = ScriptTurn | ((request: ModelRequest) => ScriptTurn);

/** A model that answers from a script. */
export interface ScriptedModel extends Model {
  /** All requests received, in order. */
  readonly requests: readonly ModelRequest[];
  /** The number of answers that the reader abandoned or aborted before their end. */
  readonly leftEarly: number;
}

export interface ScriptedModelOptions {
  readonly id?: string;
  readonly contextTokens?: number;
  readonly price?: ModelPrice;
}

/**
 * A model for tests. Each request plays the next turn of the script, also one that asks again after an
 * error or a crash: its turn may use other words, as a real model would. A request after the last turn
 * fails with an error that explains this.
 *
 *     const model = scriptedModel([
 *       { kind: "tool-call", toolName: "weather", input: { city: "Rome" } },
 *       "It is sunny in Rome.",
 *     ]);
 */
export function scriptedModel(
  turns: readonly ScriptedTurn[],
  options: ScriptedModelOptions = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  let calls = 0;
  let leftEarly = 0;
  const nextId = (): string => `call_${(calls += 1)}`;
  return {
    id: "scripted",
    ...options,
    requests,
    get leftEarly() {
      return leftEarly;
    },
    stream: (request, signal) =>
      playScript(
        {
          steps: () => {
            requests.push(request);
            return stepsOf(turnOf(turns, requests.length, request), nextId);
          },
          left: () => {
            leftEarly += 1;
          },
        },
        signal,
      ),
  };
}

function turnOf(turns: readonly ScriptedTurn[], number: number, request: ModelRequest): ScriptTurn {
  const turn = turns[number - 1];
  if (turn === undefined) {
    throw new ModelError(
      "refused",
      `the script has ${turns.length} turns, and the model was asked for turn ${number}; give scriptedModel one more`,
    );
  }
  return typeof turn === "function" ? turn(request) : turn;
}
