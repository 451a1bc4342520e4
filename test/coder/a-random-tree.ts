import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = ["src", "dist", "deep", "a b", ".hidden"];

const FILES = ["one.ts", "two.js", "three.log", "keep.log", "four", "[x].ts", "#five", "ü.md"];

/** Patterns of ignore files, as people write them. */
const PATTERNS = [
  "*.log",
  "!keep.log",
  "dist/",
  "!dist/",
  "/src",
  "!/src",
  "deep/*.ts",
  "**/two.js",
  "src/**",
  "!src/deep/",
  "a b",
  "[x].ts",
  "\\#five",
  "# a comment",
  "four ",
  ".hidden",
  "*",
  "!*/",
  "!one.ts",
  "",
];

const LINES = ["the needle", "hay", "NEEDLE and hay", "foo(bar)", "naïve needle", "x needle\r", ""];

/** Creates a random tree of folders, files, links and ignore files with these names. */
export function growTree(random: () => number, root: string, ignoreFiles: readonly string[]): void {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const some = <T>(values: readonly T[], most: number): readonly T[] =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(values));
  const grow = (folder: string, depth: number): void => {
    mkdirSync(folder, { recursive: true });
    for (const name of some(FILES, 5)) {
      writeFileSync(join(folder, name), `${some(LINES, 5).join("\n")}\n`);
    }
    if (random() < 0.1) writeFileSync(join(folder, "binary"), "needle\0needle\n");
    if (random() < 0.1) symlinkSync("..", join(folder, "link"));
    if (random() < 0.5 && ignoreFiles.length > 0) {
      writeFileSync(join(folder, pick(ignoreFiles)), some(PATTERNS, 4).join("\n"));
    }
    if (depth > 0)
      for (const name of new Set(some(FOLDERS, 3))) grow(join(folder, name), depth - 1);
  };
  grow(root, 3);
}
