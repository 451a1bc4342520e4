import type { TokenStore } from "./token-store.ts";

/**
 * How to get OAuth tokens for an agent. Where they come from is read from the card, or from the
 * metadata that a 401 of the agent names (RFC 9728).
 */
export interface OAuthOptions {
  /** The id of this program at the issuer. Default: it registers itself, if the issuer permits it (RFC 7591). */
  readonly clientId?: string | undefined;
  /**
   * The secret of this program. Needs `issuer`: it is sent to that issuer only, whatever a card says.
   * Without `signIn`, tokens are for the program itself (client credentials).
   */
  readonly clientSecret?: string | undefined;
  /**
   * The URL of the issuer that you trust. Default: the one that the card names. If the card names
   * another one, connecting fails and nothing is sent there.
   */
  readonly issuer?: string | undefined;
  /** The scopes to ask for. Default: those that the card or the 401 requires. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * What the tokens are for (RFC 8707). Default: what the metadata of the agent say, else the origin
   * of its URL. `false` asks for no particular resource, for issuers that reject the parameter.
   */
  readonly resource?: string | false | undefined;
  /** Where tokens are kept. Default: in memory, for as long as the connection exists. */
  readonly store?: TokenStore | undefined;
  /** How a person signs in. Default: nobody signs in; only stored tokens and client credentials are used. */
  readonly signIn?: SignIn | undefined;
}

/** Asks a person to sign in, in a browser. */
export interface SignIn {
  /** Shows the person what to do. The sign-in continues when it returns. */
  show(prompt: SignInPrompt): void | Promise<void>;
  /**
   * Opens the address that the browser returns to, such as `openLoopbackRedirect`. Without it, or if
   * the issuer has no page for it, the person enters a code on any device (RFC 8628).
   */
  readonly openRedirect?: (() => Promise<Redirect>) | undefined;
  /** Ends the wait for the person. */
  readonly signal?: AbortSignal | undefined;
}

/** What the person has to do: open a page, and for a device code also compare or enter the code. */
export type SignInPrompt = {
  /** The issuer that the person signs in to. */
  readonly issuer: string;
  readonly scopes: readonly string[];
} & (
  | { readonly kind: "browser"; readonly url: string }
  | {
      readonly kind: "device";
      readonly url: string;
      readonly code: string;
      /** The same page with the code filled in. */
      readonly urlWithCode?: string;
    }
);

/** Where a browser returns to after the sign-in. */
export interface Redirect {
  /** The address for the issuer. */
  readonly url: string;
  /** The address that the browser was sent to, with the answer of the issuer in its query. */
  readonly returned: Promise<URL>;
  close(): void;
}

/** Errors name the option and never quote a secret. */
export function checkOAuthOptions(options: OAuthOptions, option: string): void {
  const { clientId, clientSecret, issuer, scopes, resource } = options;
  for (const [name, value] of Object.entries({ clientId, clientSecret, issuer })) {
    if (value !== undefined && (typeof value !== "string" || value === "")) {
      throw new TypeError(`${option}.${name} must be a text that is not empty`);
    }
  }
  if (issuer !== undefined && !isWebUrl(issuer)) {
    throw new TypeError(`${option}.issuer must be the http or https URL of the issuer`);
  }
  if (clientSecret !== undefined && (clientId === undefined || issuer === undefined)) {
    throw new TypeError(
      `${option}.clientSecret needs ${option}.clientId and ${option}.issuer: ` +
        "otherwise the card would decide who receives the secret",
    );
  }
  if (scopes !== undefined && !(Array.isArray(scopes) && scopes.every(isScope))) {
    throw new TypeError(`${option}.scopes must be a list of scopes without blanks`);
  }
  if (typeof resource === "string" && !URL.canParse(resource)) {
    throw new TypeError(`${option}.resource must be an absolute URL, or false`);
  }
}

export function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** RFC 6749 §3.3. */
export function isScope(value: unknown): value is string {
  return typeof value === "string" && /^[\u0021\u0023-\u005B\u005D-\u007E]+$/.test(value);
}
