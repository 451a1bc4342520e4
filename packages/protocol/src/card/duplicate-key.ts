/** Strings whole, so that no brace inside of one counts; a key takes its colon along. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g;

/**
 * A key that one object of a JSON text has twice, if there is one. Readers differ in which of the
 * two they take, so such a text means different things to different readers. The text must be JSON.
 */
export function duplicateKey(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, colon] of json.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (colon !== undefined) {
      // Parsed, because "alg" and "\u0061lg" are the same key.
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      const seen = open.at(-1);
      if (seen?.has(key)) return key;
      seen?.add(key);
    }
  }
  return undefined;
}
