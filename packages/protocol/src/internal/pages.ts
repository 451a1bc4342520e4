/** A page of a list, as a server sent it. */
interface Page {
  /** Leads to the next page. Anything but a text with characters means that there is none. */
  readonly nextPageToken?: unknown;
}

/** The parameter of the page to read; empty for the first. */
export interface PageRequest {
  readonly pageToken?: string;
}

export interface PagesOptions {
  /** The pages that are read at most; default 1000. `Infinity` if they are handled one by one. */
  readonly maxPages?: number;
  /** Creates the error for a list with more pages. Without it the list ends there, as for a search that gives up. */
  readonly tooMany?: (maxPages: number) => Error;
}

const MAX_PAGES = 1000;

/**
 * Reads a list page by page. A server that announces another page for ever keeps its caller neither
 * busy nor filling its memory: the list ends at a token that it has named before, and at `maxPages`.
 */
export async function* readPages<Result extends Page>(
  read: (request: PageRequest) => Promise<Result>,
  { maxPages = MAX_PAGES, tooMany }: PagesOptions = {},
): AsyncGenerator<Result, void, undefined> {
  const named = new Set<string>();
  let request: PageRequest = {};
  for (let count = 0; count < maxPages; count++) {
    const page = await read(request);
    yield page;
    const { nextPageToken: pageToken } = page;
    if (typeof pageToken !== "string" || pageToken === "" || named.has(pageToken)) return;
    named.add(pageToken);
    request = { pageToken };
  }
  if (tooMany !== undefined) throw tooMany(maxPages);
}
