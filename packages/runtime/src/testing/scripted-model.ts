import { ModelError } from "../model/model-error.ts";
import type { Model, ModelPrice, ModelRequest } from "../model/model.ts";
import { playScript } from "../models/script/play-script.ts";
import { type ScriptTurn, stepsOf } from "../models/script/script-step.ts";

/** What a model says in one answer, or a function that decides by the request. */
export type ScriptedTurn = ScriptTurn | ((request: ModelRequest) => ScriptTurn);

/** A model that says what a script tells it to. */
export interface ScriptedModel extends Model {
  /** Everything it was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** How many answers were left, or aborted, before their end. */
  readonly leftEarly: number;
}

export interface ScriptedModelOptions {
  readonly id?: string;
  readonly contextTokens?: number;
  readonly price?: ModelPrice;
}

/**
 * A model for tests. Each request plays the next turn of the script; one
 * request more than it has turns is an error that says so.
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
