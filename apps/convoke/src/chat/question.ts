import type { Question } from "@convoke/client";
import { EXTENSIONS, dataOfType } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { credentialIn } from "../follow/outcome.ts";

/** Interprets the answer to a question with options: a number, an option in any case, or other text. */
export function choose(typed: string, options: readonly string[] = []): string {
  const words = typed.trim();
  const same = options.find((option) => option === words);
  const alike = options.filter((option) => option.toLowerCase() === words.toLowerCase());
  const numbered = /^\d+$/.test(words) ? options[Number(words) - 1] : undefined;
  return same ?? numbered ?? (alike.length === 1 ? alike[0] : undefined) ?? typed;
}

/**
 * The addresses at which to authorize that the text does not name. A2A has no field for them; agents
 * put them into the text or into data.
 */
export function addressesIn({ message, text }: Question): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string" && /^https?:\/\/\S+$/.test(value)) found.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  for (const part of message?.parts ?? []) if (part.kind === "data") look(part.data);
  return [...found].filter((url) => !text.includes(url));
}

/** How to answer an agent that waits for authorization. */
export function authorizationAdvice({ message }: Question): string {
  const credential = credentialIn(message);
  return credential === undefined
    ? "Once that is done, press Enter to check again, or tell the agent."
    : `Type the credential for ${oneLine(credential)}.`;
}

/** Whether the answer is a secret, which must not be shown or stored. */
export function isSensitive({ message }: Question): boolean {
  if (message === undefined) return false;
  if (credentialIn(message) !== undefined) return true;
  const asked = dataOfType(message, EXTENSIONS.clientTools.uri, "input-request");
  return asked.some(
    ({ data }) => (data as { readonly sensitive?: unknown } | null)?.sensitive === true,
  );
}
