/** Why an agent wants other credentials. */
export interface Challenge {
  /** What it asks for: its `WWW-Authenticate`, empty where it did not say. */
  readonly asks: string;
  /** The headers that were not good enough. */
  readonly sent: Readonly<Record<string, string>>;
}

/**
 * What shows an agent who is calling. Credentials are bound to the origins that
 * they were given for: for any other URL they have nothing to give, whatever a
 * card or a redirect says. Flows that fetch tokens, such as those of OAuth, are
 * other implementations of this.
 */
export interface Credentials {
  /** Whether there is anything for the URL. */
  areFor(url: string): boolean;
  /** Headers for a request to the URL; on gRPC they travel as metadata. */
  headersFor(url: string): Promise<Readonly<Record<string, string>>>;
  /** Parameters for the query of the URL. */
  queryFor(url: string): Readonly<Record<string, string>>;
  /** After a 401: gets new ones where it can, and says whether another try makes sense. */
  renew(challenge: Challenge): Promise<boolean>;
  /** What no error may quote. */
  secrets(): readonly string[];
}
