// For other libraries: OAuth tokens for a server that is not an A2A agent, such as an MCP server.

export { type OAuthTokensOptions, OAuthTokens, type RejectedToken } from "./oauth-tokens.ts";
export { type OAuthOptions, checkOAuthOptions } from "./oauth-options.ts";
export { type TokenSource, challengeFields } from "./token-source.ts";
