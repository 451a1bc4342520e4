/** Shorter ones are found in ordinary words. */
const SHORTEST = 6;

/** The text without the secrets that somebody put into it, such as a proxy that shows the request. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SHORTEST)
    .reduce((left, secret) => left.replaceAll(secret, "(redacted)"), text);
}
