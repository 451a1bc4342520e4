import { type Approval, approvalQuestion, approvalsIn } from "../../extensions/approvals.ts";
import { EXTENSIONS, extensionData } from "../../extensions/extensions.ts";
import type { PublicEvent } from "../../model/events.ts";
import type { Message } from "../../model/message.ts";
import type { A2APart, Metadata } from "../../model/part.ts";
import type { TaskStatus } from "../../model/task.ts";
import type { Codec } from "../codec/codec.ts";

/**
 * The legacy form of a question, in the message of an input-required status. A program answers with
 * a `tool-result` whose `toolUseId` is the `requestId`. Servers still send it in addition to the
 * data parts, unless they are strict.
 */
interface InputRequest {
  readonly kind: "input-request";
  readonly prompt: string;
  readonly sensitive: boolean;
  readonly requestId: string;
  readonly options?: unknown;
  /** The caller's tool to run. */
  readonly name?: string;
  readonly input?: unknown;
}

/** A codec that adds the legacy form of a question to everything it encodes. */
export function withInputRequests(codec: Codec): Codec {
  return {
    ...codec,
    encodeTask: (task) => codec.encodeTask(withInputRequest(task)),
    encodeSendResult: (result) => codec.encodeSendResult(withInputRequest(result)),
    encodeEvent: (event) => codec.encodeEvent(withInputRequest(event)),
    eventText: (event, json) => {
      const changed: PublicEvent = withInputRequest(event);
      return codec.eventText(changed, changed === event ? json : JSON.stringify(changed));
    },
  };
}

/** Adds the first request of a question in its legacy form; returns the same event if it asks nothing. */
function withInputRequest<Event extends PublicEvent>(event: Event): Event {
  if (event.kind !== "status-update" && event.kind !== "task") return event;
  const status = withStatusRequest(event.status);
  return status === event.status ? event : { ...event, status };
}

function withStatusRequest(status: TaskStatus): TaskStatus {
  const { state, message } = status;
  if (state !== "input-required" || message === undefined) return status;
  const inputRequest = findRequest(message);
  return inputRequest === undefined
    ? status
    : { ...status, message: { ...message, inputRequest } as Message };
}

function findRequest(message: Message): InputRequest | undefined {
  for (const part of message.parts) {
    const request = toInputRequest(part) ?? toToolRequest(part);
    if (request !== undefined) return request;
  }
  const { inParts, inMetadata } = approvalsIn(message);
  const [approval] = [...inParts, ...inMetadata];
  return approval && toApprovalRequest(approval);
}

/** Arguments cannot be edited in this form, so it does not offer that. */
function toApprovalRequest(approval: Approval): InputRequest {
  const prompt = approvalQuestion(approval);
  const options = approval.options.filter((option) => option !== "edit");
  return { kind: "input-request", prompt, sensitive: false, requestId: approval.id, options };
}

function toInputRequest(part: A2APart): InputRequest | undefined {
  const { requestId, prompt, sensitive, options, kind } = markedData(part, "input-request");
  if (typeof requestId !== "string" || typeof prompt !== "string") return undefined;
  if (kind !== "input-request") return undefined;
  const choices = options !== undefined && { options };
  return { kind, prompt, sensitive: sensitive === true, requestId, ...choices };
}

function toToolRequest(part: A2APart): InputRequest | undefined {
  const { toolUseId: requestId, name, input } = markedData(part, "tool-use");
  if (typeof requestId !== "string" || typeof name !== "string") return undefined;
  const prompt = `Run ${name} and send its result.`;
  return { kind: "input-request", prompt, sensitive: false, requestId, name, input };
}

/** The data of a part that the extension marks with the type; no fields for any other part. */
function markedData(part: A2APart, type: string): Metadata {
  const mark = extensionData(part.metadata, EXTENSIONS.clientTools.uri);
  const isMarked =
    part.kind === "data" && (mark as { readonly type?: unknown } | undefined)?.type === type;
  return isMarked ? ((part.data ?? {}) as Metadata) : {};
}
