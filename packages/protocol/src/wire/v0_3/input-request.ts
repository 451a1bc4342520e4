import { EXTENSIONS } from "../../extensions/extensions.ts";
import { extensionData } from "../../extensions/extension-data.ts";
import type { PublicEvent } from "../../events.ts";
import type { Message } from "../../message.ts";
import type { A2APart, Metadata } from "../../part.ts";
import type { TaskStatus } from "../../task.ts";

/**
 * What early documents of 0.3 have in the message of a question, so that a program knows what to
 * answer: by a `tool-result` whose `toolUseId` is the `requestId`.
 */
interface InputRequest {
  readonly kind: "input-request";
  readonly prompt: string;
  readonly sensitive: boolean;
  readonly requestId: string;
  readonly options?: unknown;
  /** Of the caller's tool that is to be run. */
  readonly name?: string;
  readonly input?: unknown;
}

/** The event with the first request of its question in that form; the same event where it asks for nothing. */
export function withInputRequest<Event extends PublicEvent>(event: Event): Event {
  if (event.kind !== "status-update" && event.kind !== "task") return event;
  const status = withRequest(event.status);
  return status === event.status ? event : { ...event, status };
}

function withRequest(status: TaskStatus): TaskStatus {
  const { state, message } = status;
  if (state !== "input-required" || message === undefined) return status;
  const inputRequest = requestIn(message);
  return inputRequest === undefined
    ? status
    : { ...status, message: { ...message, inputRequest } as Message };
}

function requestIn({ parts }: Message): InputRequest | undefined {
  for (const part of parts) {
    const request = inputRequestOf(part) ?? toolRequestOf(part);
    if (request !== undefined) return request;
  }
  return undefined;
}

function inputRequestOf(part: A2APart): InputRequest | undefined {
  const { requestId, prompt, sensitive, options, kind } = marked(part, "input-request");
  if (typeof requestId !== "string" || typeof prompt !== "string") return undefined;
  if (kind !== "input-request") return undefined;
  const choices = options !== undefined && { options };
  return { kind, prompt, sensitive: sensitive === true, requestId, ...choices };
}

function toolRequestOf(part: A2APart): InputRequest | undefined {
  const { toolUseId: requestId, name, input } = marked(part, "tool-use");
  if (typeof requestId !== "string" || typeof name !== "string") return undefined;
  const prompt = `Run ${name} and send its result.`;
  return { kind: "input-request", prompt, sensitive: false, requestId, name, input };
}

/** The data of a part that is marked so; no fields for any other part. */
function marked(part: A2APart, type: string): Metadata {
  const mark = extensionData(part.metadata, EXTENSIONS.clientTools.uri);
  const isMeant =
    part.kind === "data" && (mark as { readonly type?: unknown } | undefined)?.type === type;
  return isMeant ? ((part.data ?? {}) as Metadata) : {};
}
