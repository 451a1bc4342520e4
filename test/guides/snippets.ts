import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A code block of a page, and its documented output. */
export interface Snippet {
  /** Relative to the root of the repository. */
  readonly page: string;
  readonly heading: string;
  readonly code: string;
  readonly output: string;
}

/** The pages whose code other tests check: with packages that are installed there, or as part of an example. */
const CHECKED_ELSEWHERE = [
  "docs/client/faults.md",
  "docs/guide/adapters.md",
  "docs/guide/interceptors.md",
];

/** The README and all pages of the docs, without what is generated or installed there. */
export function pagesWithCode(root: string): readonly string[] {
  const exclude = ["docs/node_modules/**", "docs/api/**"];
  return ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude }).toSorted()].filter(
    (page) => !CHECKED_ELSEWHERE.includes(page),
  );
}

export async function snippetsOf(root: string, page: string): Promise<readonly Snippet[]> {
  const text = await readFile(join(root, page), "utf8");
  return text.split(/^#+ /m).flatMap((section): readonly Snippet[] => {
    const [heading = ""] = section.split("\n");
    const blocks = section.matchAll(/```ts\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs);
    return Array.from(blocks, ([, code = "", output = ""]) => ({
      page,
      heading,
      code: withInstalledNames(page, code),
      output,
    }));
  });
}

/** The official SDK is installed in both versions, under a name for each. */
function withInstalledNames(page: string, code: string): string {
  return code.replaceAll("@a2a-js/sdk", page.includes("0.3") ? "a2a-sdk-v03" : "a2a-sdk-v1");
}
