import { ClientError } from "@convoke/protocol";
import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
  allowInsecureRequests,
  customFetch,
} from "oauth4webapi";
import { type FetchOptions, type OAuthHttp, TIMEOUT_MS, signInError } from "./oauth-http.ts";

/** Makes oauth4webapi send its requests with `http`, which itself decides which may do without TLS. */
export function requestOptions(http: OAuthHttp) {
  return {
    [customFetch]: (url: string, options: FetchOptions): Promise<Response> =>
      http.fetch(url, options),
    [allowInsecureRequests]: true,
  };
}

/** The `error` of an issuer, such as `invalid_grant`. */
export function issuerError(error: unknown): string | undefined {
  if (error instanceof WWWAuthenticateChallengeError) {
    return error.cause[0]?.parameters["error"] ?? `${error.status}`;
  }
  return error instanceof ResponseBodyError || error instanceof AuthorizationResponseError
    ? error.error
    : undefined;
}

/**
 * Errors of the issuer and of the library as a `ClientError`. The library attaches whole responses to
 * its errors, which may hold tokens, so only the text is kept.
 */
export function explainOAuthError(error: unknown, issuer: string): unknown {
  if (error instanceof ClientError) return error;
  const code = issuerError(error);
  if (code !== undefined) {
    const { error_description: why } = error as { readonly error_description?: string };
    return signInError(`${issuer} answered ${short(code)}${why ? ` (${short(why)})` : ""}`);
  }
  if (error instanceof OperationProcessingError || error instanceof UnsupportedOperationError) {
    return signInError(`the answer of ${issuer} is not accepted: ${short(error.message)}`);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new ClientError("unreachable", `${issuer} did not answer within ${TIMEOUT_MS / 1000} s`);
  }
  return error;
}

function short(text: string): string {
  return text.slice(0, 200);
}
