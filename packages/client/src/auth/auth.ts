/**
 * How to show an agent who is calling. Everything is bound to the origin of the
 * URL that was given to `connect`, or to `origin`, and goes nowhere else.
 */
export type Auth = (
  | { readonly bearer: string }
  /** Asked once, and again after each 401: for tokens that expire. */
  | { readonly token: () => string | Promise<string> }
  | { readonly apiKey: ApiKey }
  | { readonly basic: { readonly user: string; readonly password: string } }
  /** For everything else. */
  | { readonly headers: Readonly<Record<string, string>> }
) & {
  /** Where the credentials may go instead, such as `https://agent.example`; several, where the agent has several. */
  readonly origin?: string | readonly string[] | undefined;
};

export interface ApiKey {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
}
