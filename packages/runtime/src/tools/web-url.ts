const MAX_LENGTH = 2000;

/** An address that a person may open. A server could name others, such as `javascript:`. */
export function webUrl(text: string | undefined): string | undefined {
  if (text === undefined || text.length > MAX_LENGTH) return undefined;
  const url = URL.parse(text);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}
