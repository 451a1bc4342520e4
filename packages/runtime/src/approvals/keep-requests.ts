import {
  type A2APart,
  type AgentEvent,
  EXTENSIONS,
  type StatusUpdateEvent,
} from "@convoke/protocol";
import { requestsIn } from "./open-request.ts";

const URIS = [EXTENSIONS.approvals.uri, EXTENSIONS.clientTools.uri] as const;

/**
 * A question in the words of an author's hook, with what the original asks for. By that an answer
 * is taken or refused, and known to be sensitive, so no hook can leave it out.
 */
export function keepRequests(said: AgentEvent, original: AgentEvent): AgentEvent {
  const asked = (original as StatusUpdateEvent).status?.message;
  if (said === original || original.kind !== "status-update" || asked === undefined) return said;
  if (said.kind !== "status-update" || requestsIn(asked).length === 0) return said;
  const update = said as StatusUpdateEvent;
  const message = update.status.message ?? { ...asked, parts: [] };
  const parts = [
    ...message.parts.filter((part) => !isMarked(part)),
    ...asked.parts.filter(isMarked),
  ];
  const metadata = { ...message.metadata, ...asked.metadata };
  const hasMetadata = Object.keys(metadata).length > 0;
  const kept = { ...message, parts, ...(hasMetadata && { metadata }) };
  return { ...update, status: { ...update.status, message: kept } };
}

function isMarked({ metadata }: A2APart): boolean {
  return URIS.some((uri) => metadata?.[uri] !== undefined);
}
