import { orAborted, sleep } from "@convoke/protocol/internal";
import {
  type AuthorizationServer,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  None,
  type TokenEndpointResponse,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  clientCredentialsGrantRequest,
  deviceAuthorizationRequest,
  deviceCodeGrantRequest,
  dynamicClientRegistrationRequest,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processDeviceAuthorizationResponse,
  processDeviceCodeResponse,
  processDynamicClientRegistrationResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  validateAuthResponse,
} from "oauth4webapi";
import { issuerError, requestOptions } from "./issuer-requests.ts";
import { type OAuthHttp, signInError } from "./oauth-http.ts";
import { type Redirect, type SignIn, isWebUrl } from "./oauth-options.ts";

/** This program at an issuer. */
export interface ClientIdentity {
  readonly id: string;
  readonly secret?: string | undefined;
}

export interface GrantContext {
  readonly server: AuthorizationServer;
  readonly http: OAuthHttp;
  readonly scopes: readonly string[];
  readonly resource: string | undefined;
}

/** A token for the program itself (RFC 6749 §4.4). */
export async function grantClientCredentials(
  context: GrantContext,
  identity: ClientIdentity,
): Promise<TokenEndpointResponse> {
  const { server, http } = context;
  const client = clientOf(identity);
  const auth = clientAuth(context, identity);
  const response = await clientCredentialsGrantRequest(
    server,
    client,
    auth,
    purposeOf(context),
    requestOptions(http),
  );
  return processClientCredentialsResponse(server, client, response);
}

export async function grantRefresh(
  context: GrantContext,
  identity: ClientIdentity,
  refreshToken: string,
): Promise<TokenEndpointResponse> {
  const { server, http, resource } = context;
  const client = clientOf(identity);
  const response = await refreshTokenGrantRequest(
    server,
    client,
    clientAuth(context, identity),
    refreshToken,
    { ...requestOptions(http), additionalParameters: { ...(resource && { resource }) } },
  );
  return processRefreshTokenResponse(server, client, response);
}

/** A person signs in with a browser that returns to this machine (RFC 6749 §4.1, RFC 7636, RFC 9207). */
export async function grantInBrowser(
  context: GrantContext,
  identity: ClientIdentity,
  { redirect, signIn }: { readonly redirect: Redirect; readonly signIn: SignIn },
): Promise<TokenEndpointResponse> {
  const { server, http, resource, scopes } = context;
  const methods = server.code_challenge_methods_supported;
  if (methods !== undefined && !methods.includes("S256")) {
    throw signInError(
      `${server.issuer} does not support PKCE with S256, which this client requires`,
    );
  }
  const client = clientOf(identity);
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  const parameters = {
    ...personalPurpose(context),
    client_id: identity.id,
    response_type: "code",
    redirect_uri: redirect.url,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  http.checkSecure(url.href);
  await signIn.show({ kind: "browser", issuer: server.issuer, scopes, url: url.href });
  const returned = await orAborted(redirect.returned, signIn.signal);
  // Checks the state, and that the answer comes from this issuer.
  const answer = validateAuthResponse(server, client, returned, state);
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    clientAuth(context, identity),
    answer,
    redirect.url,
    verifier,
    { ...requestOptions(http), additionalParameters: { ...(resource && { resource }) } },
  );
  return processAuthorizationCodeResponse(server, client, response);
}

/** RFC 8628 §3.2, §3.5. */
const POLL_SECONDS = 5;

/** A person signs in on any device and enters a code there (RFC 8628). */
export async function grantOnDevice(
  context: GrantContext,
  identity: ClientIdentity,
  signIn: SignIn,
): Promise<TokenEndpointResponse> {
  const { server, http, scopes } = context;
  const client = clientOf(identity);
  const auth = clientAuth(context, identity);
  const device = await processDeviceAuthorizationResponse(
    server,
    client,
    await deviceAuthorizationRequest(
      server,
      client,
      auth,
      personalPurpose(context),
      requestOptions(http),
    ),
  );
  const { verification_uri: url, verification_uri_complete: urlWithCode } = device;
  if (!isWebUrl(url))
    throw signInError(`the sign-in page of ${server.issuer} is not a web address`);
  await signIn.show({
    kind: "device",
    issuer: server.issuer,
    scopes,
    url,
    code: device.user_code,
    ...(urlWithCode !== undefined && isWebUrl(urlWithCode) && { urlWithCode }),
  });
  const until = Date.now() + device.expires_in * 1000;
  for (let pause = device.interval ?? POLL_SECONDS; Date.now() < until;) {
    const response = await deviceCodeGrantRequest(server, client, auth, device.device_code, {
      ...requestOptions(http),
      additionalParameters: { ...(context.resource && { resource: context.resource }) },
    });
    try {
      return await processDeviceCodeResponse(server, client, response);
    } catch (error) {
      const code = issuerError(error);
      if (code === "slow_down") pause += POLL_SECONDS;
      else if (code !== "authorization_pending") throw error;
    }
    await sleep(pause * 1000, signIn.signal);
  }
  throw signInError(`nobody signed in at ${server.issuer} before the code expired; start again`);
}

/** Registers this program, for an issuer where it has no id (RFC 7591). */
export async function registerClient(
  { server, http }: GrantContext,
  redirect: Redirect | undefined,
): Promise<ClientIdentity> {
  if (server.registration_endpoint === undefined) {
    throw signInError(
      `${server.issuer} does not let programs register themselves: register this one there and ` +
        "give its id, as clientId in auth.oauth or --client-id",
    );
  }
  const grant =
    redirect === undefined ? "urn:ietf:params:oauth:grant-type:device_code" : "authorization_code";
  const response = await dynamicClientRegistrationRequest(
    server,
    {
      client_name: "Convoke",
      application_type: "native",
      token_endpoint_auth_method: "none",
      grant_types: [grant, "refresh_token"],
      redirect_uris: redirect === undefined ? [] : [redirect.url],
      response_types: redirect === undefined ? [] : ["code"],
    },
    requestOptions(http),
  );
  const client = await processDynamicClientRegistrationResponse(response);
  const secret = client["client_secret"];
  return { id: client.client_id, ...(typeof secret === "string" && { secret }) };
}

function clientOf({ id }: ClientIdentity): Client {
  return { client_id: id };
}

function clientAuth({ server }: GrantContext, { secret }: ClientIdentity): ClientAuth {
  if (secret === undefined) return None();
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return methods.includes("client_secret_basic")
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret);
}

function purposeOf({ scopes, resource }: GrantContext): Record<string, string> {
  return { ...(scopes.length > 0 && { scope: scopes.join(" ") }), ...(resource && { resource }) };
}

/** Asks for a refresh token in addition, if the issuer knows the scope (OpenID Connect Core §11). */
function personalPurpose(context: GrantContext): Record<string, string> {
  if (context.server.scopes_supported?.includes("offline_access") !== true) {
    return purposeOf(context);
  }
  const scopes = [...new Set([...context.scopes, "offline_access"])];
  return { ...purposeOf({ ...context, scopes }), prompt: "consent" };
}
