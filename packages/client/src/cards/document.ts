/** A text on the web: a card, or the keys that it is signed with. */
export interface Document {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Where it was found, after redirects. */
  readonly url: string;
}

/** Gets a document over the network. */
export type FetchDocument = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Document>;
