// Everything that talks to an issuer, in one module, because it is loaded when a token is needed.

export { findAuthorizationServer } from "./authorization-server.ts";
export {
  grantClientCredentials,
  grantInBrowser,
  grantOnDevice,
  grantRefresh,
  registerClient,
} from "./grants.ts";
export { explainOAuthError, issuerError } from "./issuer-requests.ts";
