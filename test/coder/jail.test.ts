import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { TestWorkspace } from "./a-workspace.ts";

/** How many forests there are, and how many calls in each. `npm run test:coder` runs more. */
const FORESTS = Number(process.env["CONVOKE_JAIL_FORESTS"] ?? 4);
const CALLS = 60;

const SECRET = "the-secret-needle";

const NAMES = ["a", "b", "c", "ü", "x.txt", "y.txt"];

type Random = () => number;

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!;
}

/** A path of one to four names, which may climb. */
function aPath(random: Random): string {
  const length = 1 + Math.floor(random() * 4);
  return Array.from({ length }, () => (random() < 0.1 ? ".." : pick(random, NAMES))).join("/");
}

/** A forest of folders, files and links: to each other, outside, dangling, and in circles. */
function growForest(random: Random, root: string, outside: string): void {
  for (let count = 0; count < 40; count++) {
    const names = aPath(random).replaceAll("..", "a").split("/");
    const at = join(root, ...names);
    try {
      for (let depth = 1; depth < names.length; depth++) {
        makeFolder(join(root, ...names.slice(0, depth)));
      }
      const kind = random();
      if (kind < 0.3) mkdirSync(at);
      else if (kind < 0.6) writeFileSync(at, `inside ${count}\n`);
      else {
        const targets = [
          aPath(random),
          outside,
          join(outside, "secret.txt"),
          "../../outside",
          root,
        ];
        symlinkSync(pick(random, targets), at);
      }
    } catch {
      // Something is there already, or a file is in the way.
    }
  }
}

/** Not below a link, so that the forest itself stays inside. */
function makeFolder(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) mkdirSync(path);
  else if (!stats.isDirectory()) throw new Error("it is in the way");
}

/** A call of any file tool. */
function aCall(random: Random, root: string): readonly [name: string, input: object] {
  const path = random() < 0.2 ? join(root, aPath(random)) : aPath(random);
  const edits = [{ oldText: pick(random, ["inside", SECRET, ""]), newText: "changed by a tool" }];
  return pick(random, [
    ["read_file", { path }],
    ["list_directory", { path }],
    ["glob", { pattern: "**", path, includeIgnored: true }],
    ["search_files", { pattern: ".", path }],
    ["write_file", { path, content: "written by a tool" }],
    ["write_file", { path, content: "written by a tool" }],
    ["edit_file", { path, edits }],
    ["move_file", { from: path, to: aPath(random) }],
    ["delete_file", { path, recursive: random() < 0.3 }],
  ]);
}

/** What is outside, which must stay the same. */
function aFolderOutside(folder: string): string {
  const outside = join(folder, "outside");
  for (const name of ["a/b", "c", "ü"]) mkdirSync(join(outside, name), { recursive: true });
  for (const name of ["secret.txt", "a/x.txt", "a/b/y.txt", "x.txt", "b"]) {
    writeFileSync(join(outside, name), `${SECRET}\n`);
  }
  return outside;
}

function contentsOf(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return [path, ...contentsOf(path)];
    return [entry.isFile() ? `${path}: ${readFileSync(path, "utf8")}` : `${path}, not a file`];
  });
}

async function swapping(root: string, outside: string): Promise<() => Promise<void>> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const paths = ["a", "a/b", "c", "x.txt", "b"].map((path) => join(root, path));
  const url = new URL("./swapper.ts", import.meta.url);
  const worker = new Worker(url, { workerData: { paths, outside, stop } });
  const exit = once(worker, "exit");
  onTestFinished(async () => void (await worker.terminate()));
  await once(worker, "message");
  return async () => {
    Atomics.store(stop, 0, 1);
    await exit;
  };
}

test(
  "no file tool reads or changes anything outside, whatever links there are and however they are swapped",
  async () => {
    let answered = 0;
    for (let seed = 1; seed <= FORESTS; seed++) {
      const random = randomFrom(seed);
      const folder = temporaryFolder();
      const root = join(folder, "work");
      const outside = aFolderOutside(folder);
      mkdirSync(root);
      growForest(random, root, outside);
      const before = contentsOf(outside);
      const files = await TestWorkspace.at(root, join(folder, "data"));
      const stopSwapping = seed % 2 === 0 ? await swapping(root, outside) : async () => {};

      for (let count = 0; count < CALLS; count++) {
        const [name, input] = aCall(random, root);
        const result = await files.call(name, input).catch(() => undefined);
        if (result === undefined) continue;
        answered += 1;
        expect(result + JSON.stringify(files.artifacts)).not.toContain(SECRET);
      }
      await stopSwapping();

      expect(contentsOf(outside)).toEqual(before);
      expect(existsSync(join(folder, "data"))).toBe(true);
    }
    // Otherwise the test would prove nothing.
    expect(answered).toBeGreaterThan((FORESTS * CALLS) / 10);
  },
  60_000 * Math.max(1, FORESTS / 4),
);
