import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { succeed } from "../harness/program.ts";

const SCRIPT = fileURLToPath(
  new URL("../../packages/console/scripts/build-page.ts", import.meta.url),
);

/** What a visitor loads before the first page is shown, compressed. */
const FIRST_LOAD_BYTES = 150_000;

const BUILD_MS = 60_000;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-bundle-"));
  for (const name of ["one", "two"]) {
    await succeed(process.execPath, [SCRIPT, join(folder, name)], { cwd: folder });
  }
}, BUILD_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

const read = (name: string): Promise<string> => readFile(join(folder, "one", name), "utf8");

/** The files that the page loads at once: its styles, its script, and what that imports statically. */
async function firstFiles(): Promise<ReadonlySet<string>> {
  const html = await read("index.html");
  const files = new Set(Array.from(html.matchAll(/assets\/([\w.-]+)/g), ([, name]) => name!));
  for (const name of files) {
    if (!name.endsWith(".js")) continue;
    const imports = (await read(name)).matchAll(/(?:from|import)\s*"\.\/([\w.-]+)"/g);
    for (const [, imported] of imports) files.add(imported!);
  }
  return files;
}

test("the first load of the console is at most 150 kB compressed", async () => {
  const files = await firstFiles();
  const bytes = await Promise.all(
    [...files].map(async (name) => (await readFile(join(folder, "one", `${name}.gz`))).length),
  );
  const sum = bytes.reduce((one, other) => one + other, (await read("index.html")).length);

  expect(files.size).toBeGreaterThan(2);
  expect(sum).toBeLessThan(FIRST_LOAD_BYTES);
});

test("bundling the console twice gives the same bytes", async () => {
  const names = await readdir(join(folder, "one"));

  expect(await readdir(join(folder, "two"))).toEqual(names);
  for (const name of names) {
    const [one, two] = await Promise.all(
      ["one", "two"].map((run) => readFile(join(folder, run, name))),
    );
    expect(one!.equals(two!), name).toBe(true);
  }
});

test("the licences of all packages in the bundle are named", async () => {
  const licences = await read("THIRD-PARTY.txt");
  for (const name of ["preact", "@preact/signals"]) expect(licences).toContain(`${name} `);
});
