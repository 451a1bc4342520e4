import {
  type A2APart,
  type Approval,
  type DataPart,
  EXTENSIONS,
  type Message,
  type Metadata,
  type Task,
  type ToolUse,
  approvalsIn,
  toolUsesIn,
} from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import type { Interrupt } from "../tools/tool.ts";

/**
 * Something that a task waits for: a decision, an input, a sign-in, or the result of a tool that
 * the caller runs.
 */
export type OpenRequest = OpenApproval | OpenInput | OpenAuth | OpenToolUse;

interface OpenApproval {
  readonly kind: "approval";
  /** The approval id. */
  readonly requestId: string;
  readonly toolCallId: string;
  readonly approval: Approval;
}

interface OpenInput {
  readonly kind: "input";
  /** Unique within the task, unlike the id that the tool chose. */
  readonly requestId: string;
  readonly toolCallId: string;
  readonly prompt: string;
  readonly options?: readonly string[];
  readonly sensitive: boolean;
  /** A JSON Schema of the answer. */
  readonly schema?: JsonSchema;
  readonly metadata?: Metadata;
}

interface OpenAuth {
  readonly kind: "auth";
  readonly requestId: string;
  readonly toolCallId: string;
  readonly prompt: string;
  readonly url?: string;
  /** The name of the credential that the caller has to send; absent if it signs in elsewhere. */
  readonly credential?: string;
  /** True for a credential, so that programs which know nothing of credentials hide it, too. */
  readonly sensitive?: boolean;
}

interface OpenToolUse {
  readonly kind: "tool-use";
  readonly requestId: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Metadata;
}

export function approvalRequest(approval: Approval): OpenApproval {
  return { kind: "approval", requestId: approval.id, toolCallId: approval.tool.callId, approval };
}

function toolUseRequest({ toolUseId, name, input }: ToolUse): OpenRequest {
  return { kind: "tool-use", requestId: toolUseId, toolCallId: toolUseId, name, input };
}

/**
 * Converts an interrupt of a call to a request of the task. The id includes the call id, because
 * two calls may use the same request id.
 */
export function interruptRequest(toolCallId: string, interrupt: Interrupt): OpenRequest {
  if (interrupt.kind === "interrupt:approval") {
    const { approval } = interrupt;
    return { kind: "approval", requestId: approval.id, toolCallId, approval };
  }
  if (interrupt.kind === "interrupt:tool-use") {
    const { name, input } = interrupt;
    // A call runs only one client-side tool, so its own id is sufficient.
    return toolUseRequest({ toolUseId: toolCallId, name, input });
  }
  const requestId = `${toolCallId}:${interrupt.requestId}`;
  if (interrupt.kind === "interrupt:auth") {
    const { prompt, url, credential } = interrupt;
    return {
      kind: "auth",
      requestId,
      toolCallId,
      prompt,
      ...(url !== undefined && { url }),
      ...(credential !== undefined && { credential, sensitive: true }),
    };
  }
  const { prompt, options, sensitive = false, metadata } = interrupt;
  return {
    kind: "input",
    requestId,
    toolCallId,
    prompt,
    ...(options && { options }),
    sensitive,
    ...(metadata && { metadata }),
  };
}

/** Whether the answer to the request must not be stored. */
export function isSensitive(request: OpenRequest): boolean {
  return (request.kind === "input" || request.kind === "auth") && request.sensitive === true;
}

/** Whether the request is an approval that has expired at the given time. */
export function hasExpired(request: OpenRequest, at: Date): boolean {
  const expiresAt = request.kind === "approval" ? request.approval.expiresAt : undefined;
  return expiresAt !== undefined && Date.parse(expiresAt) <= at.getTime();
}

/** Creates a data part that names the extension that defines it. */
export function markedPart(uri: string, type: string, data: unknown): DataPart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

/**
 * The data of a part that is marked with this extension and type, or undefined for any other part.
 */
export function markedData(part: A2APart, uri: string, type: string): unknown {
  if (part.kind !== "data") return undefined;
  const mark = part.metadata?.[uri] as { readonly type?: unknown } | null | undefined;
  return mark?.type === type ? part.data : undefined;
}

/** The requests that a task waits for, read from its status message. */
export function openRequestsOf({ status }: Task): readonly OpenRequest[] {
  return status.message === undefined ? [] : requestsIn(status.message);
}

/** The requests in a message. */
export function requestsIn(message: Message): readonly OpenRequest[] {
  const { inParts, inMetadata } = approvalsIn(message);
  const others = message.parts.flatMap((part): readonly OpenRequest[] => {
    const asked = markedData(part, EXTENSIONS.clientTools.uri, "input-request") as
      | { readonly kind: string; readonly requestId?: unknown }
      | undefined;
    if (typeof asked?.requestId !== "string") return [];
    const kind = asked.kind === "auth-request" ? "auth" : "input";
    return [{ ...asked, kind } as OpenRequest];
  });
  const uses = toolUsesIn(message).map(toolUseRequest);
  return [...[...inParts, ...inMetadata].map(approvalRequest), ...others, ...uses];
}
