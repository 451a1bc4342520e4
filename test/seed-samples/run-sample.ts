import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { compileFunction } from "node:vm";

/** What a sample uses without defining it, by name: its imports, `fetch`, `console`. */
type Surroundings = Readonly<Record<string, unknown>>;

/** A mistake in a sample itself that prevents it from compiling. */
interface Correction {
  readonly wrong: string;
  readonly right: string;
}

/** The REST client declares `error` twice in one block. */
export const DECLARED_TWICE: Correction = {
  wrong: `      const error = await response.json();
      throw new Error(\`Request failed: \${error.error?.message || 'Unknown error'}\`);
`,
  right: "",
};

/**
 * Runs the code of a user document verbatim, and returns some of what it defines. Its imports are
 * provided, because it was printed without its packages.
 */
export async function runSample<Defined>(
  name: string,
  surroundings: Surroundings,
  defined: readonly (keyof Defined & string)[],
  correction?: Correction,
): Promise<Defined> {
  const printed = await readFile(new URL(`samples/${name}.txt`, import.meta.url), "utf8");
  if (correction !== undefined && !printed.includes(correction.wrong)) {
    throw new Error(`${name} does not have the mistake that is corrected`);
  }
  const corrected = correction ? printed.replace(correction.wrong, correction.right) : printed;
  const alone = corrected.replaceAll(/^import .*$|^export default .*$/gm, "");
  const code = stripTypeScriptTypes(alone, { mode: "transform" });
  const run = compileFunction(
    `${code}\nreturn { ${defined.join(", ")} };`,
    Object.keys(surroundings),
  );
  return run(...Object.values(surroundings)) as Defined;
}

/** `fetch` with paths relative to a URL, as a page at that URL has it. */
export function fetchBelow(url: string): (path: string, init: RequestInit) => Promise<Response> {
  return (path, init) => fetch(new URL(path, url), init);
}
