import type { CARD_MESSAGES } from "../grpc/v1/card-messages.ts";

type CardMessages = typeof CARD_MESSAGES;

/** The fields of a 1.0 card that the proto file marks REQUIRED. */
const REQUIRED = {
  AgentCard: [
    "name",
    "description",
    "supportedInterfaces",
    "version",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
  ],
  AgentInterface: ["url", "protocolBinding", "protocolVersion"],
  AgentProvider: ["url", "organization"],
  AgentSkill: ["id", "name", "description", "tags"],
  APIKeySecurityScheme: ["location", "name"],
  HTTPAuthSecurityScheme: ["scheme"],
  OAuth2SecurityScheme: ["flows"],
  OpenIdConnectSecurityScheme: ["openIdConnectUrl"],
  AuthorizationCodeOAuthFlow: ["authorizationUrl", "tokenUrl", "scopes"],
  ClientCredentialsOAuthFlow: ["tokenUrl", "scopes"],
  DeviceCodeOAuthFlow: ["deviceAuthorizationUrl", "tokenUrl", "scopes"],
} as const satisfies {
  readonly [M in keyof CardMessages]?: readonly (keyof CardMessages[M])[];
};

export function isRequired(message: string, field: string): boolean {
  return (
    (REQUIRED as Readonly<Record<string, readonly string[]>>)[message]?.includes(field) === true
  );
}
