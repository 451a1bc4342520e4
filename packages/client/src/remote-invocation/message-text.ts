/** What is known of a message before it was looked at. */
interface LooseMessage {
  readonly role?: unknown;
  readonly parts?: unknown;
  readonly content?: unknown;
}

/**
 * The text of the last message of the agent. Parts say `type`, `kind` or neither;
 * whatever has a text counts, and all parts count.
 */
export function lastAgentText(messages: unknown): string {
  if (!Array.isArray(messages)) return "";
  const last = (messages as readonly unknown[]).map(asMessage).findLast(isAgent);
  return last === undefined ? "" : textIn(last.parts ?? last.content);
}

function isAgent({ role }: LooseMessage): boolean {
  return role === "agent" || role === "ROLE_AGENT";
}

function textIn(parts: unknown): string {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return "";
  return (parts as readonly unknown[])
    .map((part) => (part as { readonly text?: unknown } | null)?.text)
    .filter((text) => typeof text === "string")
    .join("");
}

function asMessage(value: unknown): LooseMessage {
  return typeof value === "object" && value !== null ? value : {};
}
