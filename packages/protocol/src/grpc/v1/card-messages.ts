import type { MessageTables } from "../binary/wire-format.ts";
import { SECURITY_MESSAGES } from "../v0_3/card-messages.ts";

/** The agent card and its contents. */
export const CARD_MESSAGES = {
  ...SECURITY_MESSAGES,
  AgentCard: {
    name: [1, "string"],
    description: [2, "string"],
    supportedInterfaces: [3, "AgentInterface", "repeated"],
    provider: [4, "AgentProvider"],
    version: [5, "string"],
    documentationUrl: [6, "string", "optional"],
    capabilities: [7, "AgentCapabilities"],
    securitySchemes: [8, "SecurityScheme", "map"],
    securityRequirements: [9, "SecurityRequirement", "repeated"],
    defaultInputModes: [10, "string", "repeated"],
    defaultOutputModes: [11, "string", "repeated"],
    skills: [12, "AgentSkill", "repeated"],
    signatures: [13, "AgentCardSignature", "repeated"],
    iconUrl: [14, "string", "optional"],
  },
  AgentInterface: {
    url: [1, "string"],
    protocolBinding: [2, "string"],
    tenant: [3, "string"],
    protocolVersion: [4, "string"],
  },
  AgentProvider: { url: [1, "string"], organization: [2, "string"] },
  AgentCapabilities: {
    streaming: [1, "bool", "optional"],
    pushNotifications: [2, "bool", "optional"],
    extensions: [3, "AgentExtension", "repeated"],
    extendedAgentCard: [4, "bool", "optional"],
  },
  AgentExtension: {
    uri: [1, "string"],
    description: [2, "string"],
    required: [3, "bool"],
    params: [4, "Struct"],
  },
  AgentSkill: {
    id: [1, "string"],
    name: [2, "string"],
    description: [3, "string"],
    tags: [4, "string", "repeated"],
    examples: [5, "string", "repeated"],
    inputModes: [6, "string", "repeated"],
    outputModes: [7, "string", "repeated"],
    securityRequirements: [8, "SecurityRequirement", "repeated"],
  },
  AgentCardSignature: { protected: [1, "string"], signature: [2, "string"], header: [3, "Struct"] },
  SecurityRequirement: { schemes: [1, "StringList", "map"] },
  // Additions of 1.0 to the flows of 0.3.
  OAuthFlows: {
    ...SECURITY_MESSAGES.OAuthFlows,
    deviceCode: [5, "DeviceCodeOAuthFlow", "oneof flow"],
  },
  AuthorizationCodeOAuthFlow: {
    ...SECURITY_MESSAGES.AuthorizationCodeOAuthFlow,
    pkceRequired: [5, "bool"],
  },
  DeviceCodeOAuthFlow: {
    deviceAuthorizationUrl: [1, "string"],
    tokenUrl: [2, "string"],
    refreshUrl: [3, "string"],
    scopes: [4, "string", "map"],
  },
} as const satisfies MessageTables;
