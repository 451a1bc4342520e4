import {
  A2AError,
  CODECS,
  type ProtocolVersion,
  type PublicEvent,
  parseVersion,
} from "@convoke/protocol";
import type { PushHeaders } from "./push-headers.ts";
import { type Refused, refused } from "./received.ts";

/** A body that was understood. */
export interface PushedEvent {
  readonly kind: "pushed";
  readonly taskId: string;
  readonly version: ProtocolVersion;
  readonly event: PublicEvent;
}

export function readEvent(body: string, headers: PushHeaders): PushedEvent | Refused {
  try {
    const version = versionOf(headers);
    const event = decode(JSON.parse(body), version);
    const taskId = event.kind === "task" ? event.id : event.taskId;
    if (typeof taskId === "string" && taskId !== "") {
      return { kind: "pushed", taskId, version, event };
    }
    return refused(400, `the ${event.kind} in the body names no task`);
  } catch (error) {
    if (A2AError.is(error)) return refused(400, error.detail);
    if (error instanceof SyntaxError) return refused(400, "the body is not JSON");
    return refused(400, "the body is not an A2A notification");
  }
}

/** Senders that do not say their version are told apart by the content type, which is new in 1.0. */
function versionOf({ version, contentType }: PushHeaders): ProtocolVersion {
  const mediaType = contentType?.split(";")[0]?.trim().toLowerCase();
  return parseVersion(version) ?? (mediaType === "application/a2a+json" ? "1.0" : "0.3");
}

function decode(value: unknown, version: ProtocolVersion): PublicEvent {
  const { kind } = (value ?? {}) as { readonly kind?: unknown };
  // 0.3 pushes tasks; early senders of it left out their kind.
  const isBareTask = version === "0.3" && kind === undefined;
  return isBareTask ? CODECS[version].decodeTask(value) : CODECS[version].decodeEvent(value);
}
