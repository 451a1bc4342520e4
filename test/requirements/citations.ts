import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Requirement } from "./requirement.ts";

/** A place in a test that claims to prove a requirement. */
interface Citation {
  readonly id: string;
  readonly file: string;
  readonly line: number;
}

const TEST_FILES = "{packages,apps,test,examples,bench}/**/*.{test,suite}.ts";

/**
 * Comments and strings come first, so that they are stepped over: only a call that runs is a
 * citation. The named groups are the two ways to write its ids.
 */
const COMMENT_STRING_OR_CITATION = new RegExp(
  [
    String.raw`\/\/.*`,
    String.raw`\/\*[^]*?\*\/`,
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    "`(?:\\\\[^]|[^`\\\\])*`",
    String.raw`\bverifies\s*\(\s*(?:\[(?<list>[^\]]*)\]|(?<single>"[^"\n]*"|'[^'\n]*'))`,
  ].join("|"),
  "g",
);

/** Every citation in the text of one test file, in the order of the file. */
export function findCitations(file: string, text: string): readonly Citation[] {
  return [...text.matchAll(COMMENT_STRING_OR_CITATION)].flatMap((match) => {
    const ids = match.groups?.["list"] ?? match.groups?.["single"] ?? "";
    return [...ids.matchAll(/"([^"]*)"|'([^']*)'/g)].map((id) => ({
      id: id[1] ?? id[2] ?? "",
      file,
      line: text.slice(0, match.index).split("\n").length,
    }));
  });
}

/** Every citation in the tests and contract suites below a folder. */
export function readCitations(root: string): readonly Citation[] {
  const exclude = (path: string): boolean => /(^|[/\\])(node_modules|dist)$/.test(path);
  const files = globSync(TEST_FILES, { cwd: root, exclude }).toSorted();
  return files.flatMap((file) => findCitations(file, readFileSync(join(root, file), "utf8")));
}

/**
 * What is wrong between manifest and tests, one sentence each: a citation of something unknown,
 * and a claim of proof that no test backs. Citing what is still planned is fine: the proof may
 * be complete only later.
 */
export function citationProblems(
  requirements: readonly Requirement[],
  citations: readonly Citation[],
): readonly string[] {
  const known = new Set(requirements.map((requirement) => requirement.id));
  const cited = new Set(citations.map((citation) => citation.id));

  const unknown = citations.filter((citation) => !known.has(citation.id));
  const unbacked = requirements.filter(({ id, status }) => status === "proven" && !cited.has(id));

  return [
    ...unknown.map(({ id, file, line }) => `${file}:${line} cites the unknown requirement ${id}`),
    ...unbacked.map(({ id }) => `${id} is marked proven but no test cites it`),
  ];
}
