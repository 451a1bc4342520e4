import createMatcher from "ignore";
import { WorkspaceError } from "./workspace-error.ts";

const MAX_ALTERNATIVES = 200;

/**
 * A filter of paths by a pattern: `*`, `?`, `[…]`, `**` and `{a,b}`. A pattern without a slash
 * matches names in all folders; a pattern that matches a folder matches everything in it.
 */
export function globFilter(pattern: string): (path: string) => boolean {
  const patterns = expandBraces(pattern).map((one) => one.replace(/^[!#]/, String.raw`\$&`));
  const matcher = createMatcher({ ignoreCase: false }).add([...patterns]);
  return (path) => matcher.ignores(path);
}

/** `a.{ts,js}` stands for `a.ts` and `a.js`; braces can be nested. */
function expandBraces(pattern: string): readonly string[] {
  const found = innermostBraces(pattern);
  if (found === undefined) return [pattern];
  const { start, end, alternatives } = found;
  const expanded = alternatives.flatMap((one) =>
    expandBraces(pattern.slice(0, start) + one + pattern.slice(end)),
  );
  if (expanded.length > MAX_ALTERNATIVES) {
    throw new WorkspaceError(`The pattern has more than ${MAX_ALTERNATIVES} alternatives`);
  }
  return [...new Set(expanded)];
}

function innermostBraces(
  pattern: string,
): { start: number; end: number; alternatives: readonly string[] } | undefined {
  const match = /\{([^{}]*,[^{}]*)\}/.exec(pattern);
  if (match === null) return undefined;
  const { index: start } = match;
  return { start, end: start + match[0].length, alternatives: match[1]!.split(",") };
}
