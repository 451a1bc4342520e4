import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { finishOf } from "../../models/script/script-pieces.ts";
import type { ScriptError, ScriptStep } from "../../models/script/script-step.ts";
import type { OpenRequest } from "./open-request.ts";
import type { Wire } from "./wire.ts";

interface AnswerToWrite {
  readonly request: OpenRequest;
  readonly wire: Wire;
  readonly steps: readonly ScriptStep[];
}

/** Writes the steps of a script as the answer to a request. */
export async function writeAnswer({ request, wire, steps }: AnswerToWrite): Promise<void> {
  const [first] = steps;
  if (first?.kind === "error") return writeError(request, wire, first);
  const end = finishOf(steps);
  request.response.writeHead(200, { "content-type": "text/event-stream" });
  request.response.flushHeaders();
  try {
    await write(request, wire.begin(end));
    for (const step of steps) {
      if (await play(step, request, wire)) return;
    }
    await write(request, wire.end(end));
    request.response.end();
  } catch (error) {
    if (!request.gone.aborted) throw error;
  }
}

/** Plays a step. Returns true if it ends the answer. */
async function play(step: ScriptStep, request: OpenRequest, wire: Wire): Promise<boolean> {
  switch (step.kind) {
    case "delay":
      await delay(step.ms, undefined, { signal: request.gone });
      return false;
    case "silence":
      await request.closed;
      return true;
    case "cut":
      await flushed(request);
      request.cut();
      return true;
    case "unfinished":
      request.response.end();
      return true;
    case "malformed":
      request.response.end("data: {this is not JSON\n\n");
      return true;
    case "error":
      request.response.end(wire.errorFrame(step));
      return true;
    case "finish":
      return false;
    default:
      await write(request, wire.say(step));
      return false;
  }
}

async function write(request: OpenRequest, frames: Iterable<string>): Promise<void> {
  for (const frame of frames) {
    if (!request.response.write(frame)) {
      await once(request.response, "drain", { signal: request.gone });
    }
  }
}

/** Waits until all written data has been sent, before the connection is broken. */
async function flushed({ response, gone }: OpenRequest): Promise<void> {
  await new Promise<void>((resolve) => response.write(": cut\n\n", () => resolve()));
  await delay(20, undefined, { signal: gone });
}

function writeError({ response }: OpenRequest, wire: Wire, error: ScriptError): void {
  response.writeHead(error.status, {
    "content-type": "application/json",
    ...(error.retryAfterSeconds !== undefined && { "retry-after": `${error.retryAfterSeconds}` }),
  });
  response.end(JSON.stringify(wire.errorBody(error)));
}
