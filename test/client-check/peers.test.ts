import { readFile } from "node:fs/promises";
import type { Results } from "@convoke/check";
import { expect, test, vi } from "vitest";
import { REPORT_PAGES, checkForPage } from "./report-page.ts";

// Both SDKs log what they reject.
vi.spyOn(console, "error").mockReturnValue();
vi.spyOn(console, "warn").mockReturnValue();

test.each(REPORT_PAGES.slice(1))(
  "$title fails what its page in the docs says; npm run check:clients writes it",
  async (page) => {
    const text = await readFile(new URL(`../../docs/check/${page.file}`, import.meta.url), "utf8");

    const results = await checkForPage(page);

    expect(failuresIn(results)).toEqual(failuresOn(text));
    expect(results.counts.passed).toBeGreaterThan(100);
  },
  120_000,
);

/** The ids of the failures of each section. */
function failuresIn({ sections }: Results): Readonly<Record<string, readonly string[]>> {
  const failed = sections.map(({ name, results }) => [
    name,
    results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id),
  ]);
  return Object.fromEntries(failed) as Readonly<Record<string, readonly string[]>>;
}

function failuresOn(page: string): Readonly<Record<string, readonly string[]>> {
  const sections = page.split("\n## ").slice(1);
  const listed = sections.map((section) => [
    section.split("\n", 1)[0],
    Array.from(section.matchAll(/^\*\*(\S+)\*\*/gm), ([, id]) => id),
  ]);
  return Object.fromEntries(listed) as Readonly<Record<string, readonly string[]>>;
}
