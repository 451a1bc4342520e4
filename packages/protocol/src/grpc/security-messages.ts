import type { MessageTables } from "./binary/table.ts";

/** How a caller proves who it is: the same in both versions, but for the flows that 1.0 added. */
export const SECURITY_MESSAGES = {
  StringList: { list: [1, "string", "repeated"] },
  SecurityScheme: {
    apiKeySecurityScheme: [1, "APIKeySecurityScheme", "oneof scheme"],
    httpAuthSecurityScheme: [2, "HTTPAuthSecurityScheme", "oneof scheme"],
    oauth2SecurityScheme: [3, "OAuth2SecurityScheme", "oneof scheme"],
    openIdConnectSecurityScheme: [4, "OpenIdConnectSecurityScheme", "oneof scheme"],
    mtlsSecurityScheme: [5, "MutualTlsSecurityScheme", "oneof scheme"],
  },
  APIKeySecurityScheme: {
    description: [1, "string"],
    location: [2, "string"],
    name: [3, "string"],
  },
  HTTPAuthSecurityScheme: {
    description: [1, "string"],
    scheme: [2, "string"],
    bearerFormat: [3, "string"],
  },
  OAuth2SecurityScheme: {
    description: [1, "string"],
    flows: [2, "OAuthFlows"],
    oauth2MetadataUrl: [3, "string"],
  },
  OpenIdConnectSecurityScheme: { description: [1, "string"], openIdConnectUrl: [2, "string"] },
  MutualTlsSecurityScheme: { description: [1, "string"] },
  OAuthFlows: {
    authorizationCode: [1, "AuthorizationCodeOAuthFlow", "oneof flow"],
    clientCredentials: [2, "ClientCredentialsOAuthFlow", "oneof flow"],
    implicit: [3, "ImplicitOAuthFlow", "oneof flow"],
    password: [4, "PasswordOAuthFlow", "oneof flow"],
  },
  AuthorizationCodeOAuthFlow: {
    authorizationUrl: [1, "string"],
    tokenUrl: [2, "string"],
    refreshUrl: [3, "string"],
    scopes: [4, "string", "map"],
  },
  ClientCredentialsOAuthFlow: {
    tokenUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
  ImplicitOAuthFlow: {
    authorizationUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
  PasswordOAuthFlow: {
    tokenUrl: [1, "string"],
    refreshUrl: [2, "string"],
    scopes: [3, "string", "map"],
  },
} as const satisfies MessageTables;
