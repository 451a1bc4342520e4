import type { JsonRpcError } from "../../framing/jsonrpc.ts";
import type { AgentCardFacts, AgentSkill } from "../../model/agent.ts";
import { A2AError } from "../../model/errors.ts";
import { mapValues, requirementToProto, schemeToProto } from "../../model/security.ts";
import type { Codec } from "../codec/codec.ts";
import {
  decodeEvent,
  decodeTask,
  decodeTaskPage,
  encodeEvent,
  encodeTask,
  encodeTaskPage,
  eventText,
} from "./task.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";

/** A2A 1.0 in ProtoJSON. */
export const codecV1: Codec = {
  version: "1.0",
  dialect: "1.0",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeTaskPage,
  decodeTaskPage,
  encodeSendResult: encodeEvent,
  decodeSendResult: (value) => {
    const result = decodeEvent(value);
    if (result.kind === "task" || result.kind === "message") return result;
    throw new A2AError("InvalidAgentResponse", "the response is neither a task nor a message");
  },
  encodeEvent,
  decodeEvent,
  eventText,
  encodeError,
  encodeCard,
};

const DOMAIN = "a2a-protocol.org";

/**
 * 1.0 §9.5: `data` is a list of typed details: always an ErrorInfo, a BadRequest if a field is
 * invalid, and a RetryInfo if another attempt may succeed.
 */
export function encodeError(error: A2AError): JsonRpcError {
  const { reason, detail, field, details, retryAfterMs } = error;
  const data: object[] = [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: upperSnake(reason),
      domain: DOMAIN,
      metadata: details,
    },
  ];
  if (field !== undefined) {
    data.push({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field, description: detail }],
    });
  }
  if (retryAfterMs !== undefined) {
    data.push({
      "@type": "type.googleapis.com/google.rpc.RetryInfo",
      retryDelay: `${retryAfterMs / 1000}s`,
    });
  }
  return { code: error.row.code, message: error.message, data };
}

/** Converts `TaskNotFound` to `TASK_NOT_FOUND`. */
function upperSnake(reason: string): string {
  return reason.replaceAll(/(?<!^)(?=[A-Z])/g, "_").toUpperCase();
}

/** 1.0 §8. Required fields are always present; unset optional fields are omitted. */
function encodeCard(facts: AgentCardFacts): object {
  const { info, interfaces, capabilities, security } = facts;
  return {
    name: info.name,
    description: info.description,
    supportedInterfaces: interfaces.map(({ url, binding, version, tenant }) => ({
      url,
      protocolBinding: binding,
      ...(tenant !== undefined && { tenant }),
      protocolVersion: version,
    })),
    ...(info.provider && { provider: info.provider }),
    version: info.version,
    ...(info.documentationUrl && { documentationUrl: info.documentationUrl }),
    capabilities,
    ...(security && {
      securitySchemes: mapValues(security.schemes, schemeToProto),
      securityRequirements: security.requirements.map(requirementToProto),
    }),
    defaultInputModes: info.inputModes,
    defaultOutputModes: info.outputModes,
    skills: info.skills.map(encodeSkill),
    ...(info.iconUrl && { iconUrl: info.iconUrl }),
  };
}

function encodeSkill({ security, ...skill }: AgentSkill): object {
  return { ...skill, ...(security && { securityRequirements: security.map(requirementToProto) }) };
}
