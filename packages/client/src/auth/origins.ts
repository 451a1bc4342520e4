/** Whether the URL is of one of the origins. The parser brings every spelling of a host to one. */
export function isOriginOf(origins: readonly string[], url: string): boolean {
  return URL.canParse(url) && origins.includes(new URL(url).origin);
}

/** The origin of an http or https URL, or an error that names the option. */
export function originOf(text: string, option: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new TypeError(`${option} must be an origin such as https://agent.example, not "${text}"`);
}
