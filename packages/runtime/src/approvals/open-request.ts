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
import type { Interrupt } from "../tools/tool.ts";

/** Something a task waits for: a decision, an input, a sign-in, or the result of a tool that the caller runs. */
export type OpenRequest = OpenApproval | OpenInput | OpenAuth | OpenToolUse;

interface OpenApproval {
  readonly kind: "approval";
  /** The id of the approval. */
  readonly requestId: string;
  readonly toolCallId: string;
  readonly approval: Approval;
}

interface OpenInput {
  readonly kind: "input";
  /** Unique in the task, other than the name that the tool gave it. */
  readonly requestId: string;
  readonly toolCallId: string;
  readonly prompt: string;
  readonly options?: readonly string[];
  readonly sensitive: boolean;
  readonly metadata?: Metadata;
}

interface OpenAuth {
  readonly kind: "auth";
  readonly requestId: string;
  readonly toolCallId: string;
  readonly prompt: string;
  readonly url?: string;
}

interface OpenToolUse {
  readonly kind: "tool-use";
  readonly requestId: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Metadata;
}

export function approvalRequest(approval: Approval): OpenRequest {
  return { kind: "approval", requestId: approval.id, toolCallId: approval.tool.callId, approval };
}

function toolUseRequest({ toolUseId, name, input }: ToolUse): OpenRequest {
  return { kind: "tool-use", requestId: toolUseId, toolCallId: toolUseId, name, input };
}

/** What a call asks for, as the task asks for it. Two calls may use the same name for what they ask, so the call is part of the id. */
export function interruptRequest(toolCallId: string, interrupt: Interrupt): OpenRequest {
  if (interrupt.kind === "interrupt:approval") {
    const { approval } = interrupt;
    return { kind: "approval", requestId: approval.id, toolCallId, approval };
  }
  if (interrupt.kind === "interrupt:tool-use") {
    const { name, input } = interrupt;
    // A call uses one tool, so that its own id will do.
    return toolUseRequest({ toolUseId: toolCallId, name, input });
  }
  const requestId = `${toolCallId}:${interrupt.requestId}`;
  if (interrupt.kind === "interrupt:auth") {
    const { prompt, url } = interrupt;
    return { kind: "auth", requestId, toolCallId, prompt, ...(url !== undefined && { url }) };
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

/** Whether it is an approval that came to its end by then. */
export function hasExpired(request: OpenRequest, at: Date): boolean {
  const expiresAt = request.kind === "approval" ? request.approval.expiresAt : undefined;
  return expiresAt !== undefined && Date.parse(expiresAt) <= at.getTime();
}

/** A data part that says by which extension it is to be read. */
export function markedPart(uri: string, type: string, data: unknown): DataPart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

/** The data of a part that an extension marks so; nothing for any other part. */
export function markedData(part: A2APart, uri: string, type: string): unknown {
  if (part.kind !== "data") return undefined;
  const mark = part.metadata?.[uri] as { readonly type?: unknown } | null | undefined;
  return mark?.type === type ? part.data : undefined;
}

/** What a task waits for, read from the status in which it asks. */
export function openRequestsOf({ status }: Task): readonly OpenRequest[] {
  return status.message === undefined ? [] : requestsIn(status.message);
}

/** What a message asks for. */
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
