import type { JsonRpcError } from "../../framing/jsonrpc.ts";
import type { AgentCardFacts } from "../../model/agent.ts";
import { A2AError } from "../../model/errors.ts";
import type { Codec } from "../codec/codec.ts";
import { findKind } from "../legacy/messages.ts";
import { decodeEvent, decodeTask, encodeEvent, encodeTask, eventText } from "./task.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";

/** A2A 0.3 in its JSON-RPC dialect. */
export const codecV03: Codec = {
  version: "0.3",
  dialect: "0.3",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeListTasks: noList,
  encodeTaskPage: noList,
  decodeTaskPage: noList,
  encodeSendResult: (result) =>
    result.kind === "task" ? encodeTask(result) : encodeMessage(result),
  decodeSendResult: (value) =>
    findKind(value) === "message" ? decodeSentMessage(value, "result") : decodeTask(value),
  encodeEvent,
  decodeEvent,
  eventText,
  encodeError,
  encodeCard,
};

function noList(): never {
  throw new A2AError("UnsupportedOperation", "listing tasks needs A2A 1.0");
}

/** 0.3 §8 leaves `data` open, so it is a plain object with the reason, the field and the details. */
export function encodeError(error: A2AError): JsonRpcError {
  const { detail, field, details } = error;
  const data = { reason: detail, ...(field !== undefined && { field }), ...details };
  return { code: error.row.code, message: error.message, data };
}

/** 0.3 §5.5. */
function encodeCard(facts: AgentCardFacts): object {
  const { info, security } = facts;
  // 0.3 has a separate field for it.
  const { extendedAgentCard = false, ...capabilities } = facts.capabilities;
  const interfaces = facts.interfaces.filter(({ version }) => version === "0.3");
  return {
    protocolVersion: "0.3.0",
    name: info.name,
    description: info.description,
    url: interfaces[0]?.url,
    preferredTransport: interfaces[0]?.binding,
    additionalInterfaces: interfaces.map(({ url, binding }) => ({ url, transport: binding })),
    ...(info.iconUrl && { iconUrl: info.iconUrl }),
    ...(info.provider && { provider: info.provider }),
    version: info.version,
    ...(info.documentationUrl && { documentationUrl: info.documentationUrl }),
    // The log keeps every transition. 1.0 has no such capability.
    capabilities: { ...capabilities, stateTransitionHistory: true },
    ...(security && { securitySchemes: security.schemes, security: security.requirements }),
    defaultInputModes: info.inputModes,
    defaultOutputModes: info.outputModes,
    skills: info.skills,
    supportsAuthenticatedExtendedCard: extendedAgentCard,
  };
}
