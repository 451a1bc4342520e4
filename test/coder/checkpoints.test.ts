import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { Checkpoints } from "@convoke/coder";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { CALLER, TestWorkspace } from "./a-workspace.ts";

/** How many random histories are undone. `npm run test:coder` runs more. */
const RUNS = Number(process.env["CONVOKE_CHECKPOINT_RUNS"] ?? 6);

/** Everything in a folder except `.git`: contents, modes, links and empty folders. */
function treeOf(root: string, folder = root): readonly string[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      const shown = relative(root, path);
      const stats = lstatSync(path);
      if (name === ".git") return [];
      if (stats.isDirectory()) return [`${shown}/`, ...treeOf(root, path)];
      if (stats.isSymbolicLink()) return [`${shown} -> ${readlinkSync(path)}`];
      return [`${shown} ${(stats.mode & 0o777).toString(8)} ${readFileSync(path, "latin1")}`];
    });
}

describe("a checkpoint", () => {
  test("undoes a write, an edit, a move and a deletion, with the folders that they created", async () => {
    const files = await TestWorkspace.with({ "a.txt": "a", "dir/b.txt": "b", "run.sh": "#!" });
    chmodSync(join(files.root, "run.sh"), 0o755);
    symlinkSync("a.txt", join(files.root, "dir/link"));
    const before = treeOf(files.root);

    await files.call("write_file", { path: "new/deep/c.txt", content: "c" });
    await files.call("edit_file", { path: "run.sh", edits: [{ oldText: "#!", newText: "x" }] });
    await files.call("move_file", { from: "dir", to: "new/moved" });
    await files.call("delete_file", { path: "a.txt" });
    const after = treeOf(files.root);
    const [first] = await files.checkpoints.list();
    const report = await files.checkpoints.restore(first!.id);

    expect(treeOf(files.root)).toEqual(before);
    expect(report.left).toEqual([]);
    expect(report.written).toEqual(expect.arrayContaining(["a.txt", "dir/b.txt", "run.sh"]));

    // The restore is undone in the same way.
    const undo = (await files.checkpoints.list()).at(-1)!;
    await files.checkpoints.restore(undo.id);
    expect(treeOf(files.root)).toEqual(after);
  });

  test("of a deleted folder has the ignored files and the repository in it", async () => {
    const files = await TestWorkspace.with({
      "dir/.gitignore": "*.log",
      "dir/x.log": "x",
      "dir/.git/config": "git",
    });

    await files.call("delete_file", { path: "dir", recursive: true });
    const [checkpoint] = await files.checkpoints.list();
    await files.checkpoints.restore(checkpoint!.id);

    expect(readFileSync(join(files.root, "dir/x.log"), "utf8")).toBe("x");
    expect(readFileSync(join(files.root, "dir/.git/config"), "utf8")).toBe("git");
  });

  test("belongs to its conversation, and survives a restart", async () => {
    const files = await TestWorkspace.with({ "a.txt": "a", "b.txt": "b" });
    const edit = (path: string) => ({ path, edits: [{ oldText: path[0], newText: "changed" }] });
    await files.call("edit_file", edit("a.txt"), "first");
    await files.call("edit_file", edit("b.txt"), "second");

    const { checkpoints } = await TestWorkspace.at(files.root, files.data);
    const [first, ...others] = await checkpoints.list({ ...CALLER, contextId: "first" });
    expect(others).toEqual([]);
    expect(first).toMatchObject({ label: "edit_file a.txt", contextId: "first", taskId: "task" });
    await checkpoints.restore(first!.id);

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("a");
    expect(readFileSync(join(files.root, "b.txt"), "utf8")).toBe("changed");
  });

  test("of the whole workspace leaves ignored files and .git alone", async () => {
    const files = await TestWorkspace.with({
      ".gitignore": "node_modules/\n.env\n",
      ".env": "key=1",
      "node_modules/x.js": "x",
      ".git/config": "git",
      "src/a.ts": "a",
    });
    const { id } = await files.checkpoints.snapshot({ label: "npm install" });

    for (const path of [".env", "node_modules/x.js", ".git/config", "src/a.ts", "src/new.ts"]) {
      writeFileSync(join(files.root, path), "changed");
    }
    writeFileSync(join(files.root, ".gitignore"), "");
    await files.checkpoints.restore(id);

    const text = (path: string) => readFileSync(join(files.root, path), "utf8");
    expect([text(".env"), text("node_modules/x.js"), text(".git/config")]).toEqual(
      Array.from({ length: 3 }, () => "changed"),
    );
    expect(text("src/a.ts")).toBe("a");
    expect(existsSync(join(files.root, "src/new.ts"))).toBe(false);
  });

  test("undoes the edit of an ignored file by a tool, and not that by a command", async () => {
    const files = await TestWorkspace.with({ ".gitignore": "*.env\n", "a.env": "1", "b.env": "1" });
    const facts = { label: "command", session: { ...CALLER, contextId: "context" } };
    const { id } = await files.checkpoints.snapshot(facts);
    await files.call("edit_file", { path: "a.env", edits: [{ oldText: "1", newText: "2" }] });
    writeFileSync(join(files.root, "b.env"), "2");

    await files.checkpoints.restore(id);

    expect(readFileSync(join(files.root, "a.env"), "utf8")).toBe("1");
    expect(readFileSync(join(files.root, "b.env"), "utf8")).toBe("2");
  });

  test("of a workspace above its limits restores what it has, and deletes nothing", async () => {
    const files = await TestWorkspace.with({
      "a.txt": "a",
      "big.txt": "x".repeat(100),
      "c.txt": "c",
    });
    const limits = { maxFileBytes: 10, maxPaths: 3 };
    const folder = join(files.data, "small");
    const { workspace } = files;
    const checkpoints = await Checkpoints.open({ workspace, folder, limits });
    const big = join(files.root, "big.txt");
    const checkpoint = await checkpoints.snapshot({ label: "command" });
    expect(checkpoint).toMatchObject({ paths: 2, isPartial: true });
    for (const name of ["a.txt", "big.txt", "c.txt", "new.txt"]) {
      writeFileSync(join(files.root, name), "changed");
    }

    expect(await checkpoints.restore(checkpoint.id)).toEqual({
      written: ["a.txt"],
      deleted: [],
      left: [],
    });
    expect(readFileSync(big, "utf8")).toBe("changed");
    writeFileSync(big, "x".repeat(100));
    await expect(checkpoints.beforeChange([big], { label: "edit" })).rejects.toThrow(
      "big.txt cannot be recorded, so the change could not be undone",
    );
  });

  test("names no file of its own: an id is only looked up", async () => {
    const files = await TestWorkspace.with({});

    for (const id of ["../../etc/passwd", "0000000000000-000000", ""]) {
      await expect(files.checkpoints.restore(id)).rejects.toThrow("There is no checkpoint");
    }
  });

  test("is deleted when there are too many, with the contents that only it has", async () => {
    const files = await TestWorkspace.with({ "a.txt": "0" });
    const { workspace } = files;
    const folder = join(files.data, "few");
    const checkpoints = await Checkpoints.open({ workspace, folder, limits: { keep: 2 } });
    const path = join(files.root, "a.txt");

    for (let turn = 1; turn <= 6; turn++) {
      await checkpoints.beforeChange([path], { label: `turn ${turn}` });
      writeFileSync(path, String(turn));
    }

    const kept = await checkpoints.list();
    expect(kept.map(({ label }) => label)).toEqual(["turn 5", "turn 6"]);
    const blobs = readdirSync(folder, { recursive: true }).filter((name) =>
      /[0-9a-f]{62}$/.test(String(name)),
    );
    // Two contents and two lists.
    expect(blobs).toHaveLength(4);
    await checkpoints.restore(kept[0]!.id);
    expect(readFileSync(path, "utf8")).toBe("4");
  });
});

/** One random change of a workspace, as a command could make it. */
function changeByHand(random: () => number, root: string): void {
  const names = ["a", "b", "c.txt", "d.log"];
  const pick = (): string => names[Math.floor(random() * names.length)]!;
  const path = join(root, ...Array.from({ length: 1 + Math.floor(random() * 3) }, pick));
  try {
    const kind = random();
    if (kind < 0.35) writeFileSync(path, `by hand ${random()}`);
    else if (kind < 0.5) mkdirSync(path);
    else if (kind < 0.6) symlinkSync(pick(), path);
    else if (kind < 0.7) chmodSync(path, random() < 0.5 ? 0o600 : 0o755);
    else if (kind < 0.8) renameSync(path, join(root, pick()));
    else rmSync(path, { recursive: true });
  } catch {
    // Such a change is not possible here.
  }
}

/** One random call of a tool that changes something. */
async function changeByTool(random: () => number, files: TestWorkspace): Promise<void> {
  const names = ["a", "b", "c.txt", "d.log"];
  const pick = (): string => names[Math.floor(random() * names.length)]!;
  const path = Array.from({ length: 1 + Math.floor(random() * 3) }, pick).join("/");
  const kind = random();
  await files.call("read_file", { path }).catch(() => undefined);
  const call =
    kind < 0.5
      ? files.call("write_file", { path, content: `by a tool ${random()}` })
      : kind < 0.75
        ? files.call("move_file", { from: path, to: pick() })
        : files.call("delete_file", { path, recursive: true });
  await call.catch(() => undefined);
}

test(
  "any history of tools and commands is undone to the byte, from every checkpoint",
  async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const random = randomFrom(seed);
      const files = await TestWorkspace.with({ "a/c.txt": "1", "b/a/c.txt": "2", "d.log": "3" });
      const trees = new Map<string, readonly string[]>();
      for (let turn = 0; turn < 12; turn++) {
        const before = treeOf(files.root);
        const isCommand = random() < 0.4;
        if (isCommand)
          await files.checkpoints.snapshot({
            label: "command",
            session: { ...CALLER, contextId: "context" },
          });
        const known = (await files.checkpoints.list()).length;
        if (isCommand) for (let n = 0; n < 4; n++) changeByHand(random, files.root);
        else await changeByTool(random, files);
        const made = (await files.checkpoints.list()).slice(isCommand ? known - 1 : known);
        for (const { id } of made) trees.set(id, before);
      }

      for (const [id, tree] of [...trees].toSorted(() => random() - 0.5)) {
        await files.checkpoints.restore(id);
        expect(treeOf(files.root), `seed ${seed}`).toEqual(tree);
      }
    }
  },
  60_000 * Math.max(1, RUNS / 6),
);

test(
  "a restore that was killed leaves only whole files, and can be repeated",
  { timeout: 60_000 },
  async () => {
    const paths = Array.from({ length: 80 }, (_, index) => `dir-${index % 7}/file-${index}.txt`);
    const files = await TestWorkspace.with(
      Object.fromEntries(paths.map((path) => [path, `old ${path}`.repeat(1000)])),
    );
    const before = treeOf(files.root);
    const { id } = await files.checkpoints.snapshot({ label: "command" });
    for (const path of paths) writeFileSync(join(files.root, path), `new ${path}`);

    const child = fork(
      new URL("./restore-process.ts", import.meta.url),
      [files.root, files.data, id],
      {
        execArgv: ["--conditions=@convoke/source"],
      },
    );
    const exit = once(child, "exit");
    const first = join(files.root, paths[0]!);
    while (!readFileSync(first, "utf8").startsWith("old") && child.exitCode === null) {
      await once(child, "message");
    }
    child.kill("SIGKILL");
    await exit;

    for (const path of paths) {
      const text = readFileSync(join(files.root, path), "utf8");
      expect([`old ${path}`.repeat(1000), `new ${path}`]).toContain(text);
    }
    const { checkpoints } = await TestWorkspace.at(files.root, files.data);
    await checkpoints.restore(id);
    const isLeftover = (line: string): boolean =>
      line.startsWith(".convoke-") || /\/\.convoke-/.test(line);
    expect(treeOf(files.root).filter((line) => !isLeftover(line))).toEqual(before);
  },
);
