const URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;
const HOST = /(?:\[[0-9a-f:.]+\]|\b\d{1,3}(?:\.\d{1,3}){3}|\blocalhost)(?::\d+)?/gi;

/**
 * A problem in words that anybody may read: where a sub-agent is, is no concern
 * of whoever calls the agent above it.
 */
export function withoutAddresses(text: string, name: string): string {
  return text.replaceAll(URL, name).replaceAll(HOST, name);
}
