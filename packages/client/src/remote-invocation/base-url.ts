import { ValidationError } from "./errors.ts";

const CARD_PATH = "/.well-known/agent-card.json";

/** One spelling for each agent: no slash at the end, no query, no fragment. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new ValidationError(
      `baseUrl must be an http or https URL such as https://agent.example.com, not "${text}"`,
      { field: "baseUrl" },
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new ValidationError(
      `baseUrl holds a user name or a password for ${url.host}; leave them out and use auth: { basic }`,
      { field: "baseUrl" },
    );
  }
  const path = url.pathname.endsWith(CARD_PATH)
    ? url.pathname.slice(0, -CARD_PATH.length)
    : url.pathname;
  return `${url.origin}${path.replace(/\/+$/, "")}`;
}

/** Where the agent at this address shows its card. */
export function cardUrlOf(base: string): string {
  return `${base}${CARD_PATH}`;
}
