// How fast search_files is on a large tree, compared with GNU grep, which searches everything with
// one thread:
//
//     npm run bench:search            # 100 000 files
//     npm run bench:search -- 20000
import { Checkpoints, Workspace, createFileTools } from "@convoke/coder";
import type { Tool, ToolContext } from "@convoke/runtime";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILES = Number(process.argv[2] ?? 100_000);
const FILES_PER_FOLDER = 50;
const ROUNDS = 5;

interface Query {
  readonly pattern: string;
  readonly ignoreCase?: boolean;
}

const QUERIES: readonly { readonly name: string; readonly input: Query }[] = [
  { name: "a rare word", input: { pattern: "needle_in_the_hay" } },
  { name: "a rare expression", input: { pattern: "needle_\\w+_hay\\(\\d+\\)" } },
  { name: "ignoring case", input: { pattern: "NEEDLE_IN", ignoreCase: true } },
];

const folder = mkdtempSync(join(process.cwd(), ".convoke-bench-"));
try {
  const root = join(folder, "tree");
  growTree(root);
  const search = await searchTool(root);
  console.log(`${FILES} files, median of ${ROUNDS} rounds`);
  for (const { name, input } of QUERIES) {
    const theirs = await median(() => runGrep(input, root));
    const began = process.cpuUsage();
    const ours = await median(() => call(search, input));
    const { user, system } = process.cpuUsage(began);
    const ratio = (ours / theirs).toFixed(2);
    const cpu = ((user + system) / 1000 / ROUNDS).toFixed(0);
    console.log(`${name}, grep: ${theirs.toFixed(0)} ms`);
    console.log(`${name}, search_files: ${ours.toFixed(0)} ms, ${ratio}×; ${cpu} ms of CPU`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Sources of about 1 kB; one in a thousand has the needle. */
function growTree(root: string): void {
  const line = "export const value = compute(left, right); // some ordinary source text\n";
  const content = line.repeat(14);
  for (let index = 0; index < FILES; index++) {
    const number = Math.floor(index / FILES_PER_FOLDER);
    const inner = join(root, `package-${number % 50}`, `folder-${number}`);
    if (index % FILES_PER_FOLDER === 0) mkdirSync(inner, { recursive: true });
    const needle = index % 1000 === 0 ? `needle_in_the_hay(${index})\n` : "";
    writeFileSync(join(inner, `file-${index}.ts`), content + needle);
  }
  writeFileSync(join(root, ".gitignore"), "dist/\nnode_modules/\n*.log\n");
}

async function searchTool(root: string): Promise<Tool> {
  const data = join(folder, "data");
  const workspace = await Workspace.open({ roots: [root] });
  const checkpoints = await Checkpoints.open({ workspace, folder: data });
  const tools = createFileTools({ workspace, checkpoints, folder: data, policy: () => "allow" });
  return tools.find(({ name }) => name === "search_files")!;
}

async function call(search: Tool, query: Query): Promise<void> {
  const { signal } = new AbortController();
  const context = { contextId: "bench", signal, caller: { owner: "bench" } } as ToolContext;
  let found = 0;
  const stream = search.run({ ...query, limit: 1000 }, context) as AsyncGenerator<unknown>;
  for await (const _file of stream) found += 1;
  if (found !== FILES / 1000)
    throw new Error(`${found} files have the needle, not ${FILES / 1000}`);
}

async function runGrep(query: Query, root: string): Promise<void> {
  const flags = query.ignoreCase === true ? ["-i"] : [];
  spawnSync("grep", ["-rnP", ...flags, "-e", query.pattern, "."], { cwd: root });
}

async function median(work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
}
