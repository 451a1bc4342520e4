/** More of a provider's words than this helps nobody. */
const MAX_LENGTH = 500;

/** Text of a provider without keys: those we know, and whatever looks like one. */
export function redacted(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== "") clean = clean.replaceAll(secret, "[key]");
  }
  return clean
    .replace(/\b(bearer)\s+\S+/gi, "$1 [key]")
    .replace(/\b(sk|pk|key|AIza)[-_][\w*-]{6,}|\bAIza[\w-]{10,}/g, "[key]")
    .replace(/(https?:\/\/)[^\s/@]*@/gi, "$1")
    .replace(/(https?:\/\/[^\s?#]+)\?[^\s"')]*/gi, "$1")
    .slice(0, MAX_LENGTH);
}
