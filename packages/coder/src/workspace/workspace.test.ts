import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Workspace } from "./workspace.ts";

/** A folder with a workspace `work`, and `secret.txt` outside of it. */
async function aWorkspace(): Promise<{ folder: string; root: string; workspace: Workspace }> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-jail-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "work");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "src/a.ts"), "a");
  writeFileSync(join(folder, "secret.txt"), "secret");
  return { folder, root, workspace: await Workspace.open({ roots: [root] }) };
}

describe("a path", () => {
  test("means the same place in every spelling", async () => {
    const { root, workspace } = await aWorkspace();
    symlinkSync("src", join(root, "link"));
    const spellings = ["src/a.ts", "./src/../src//a.ts", join(root, "src/a.ts"), "link/a.ts"];

    for (const path of spellings) {
      expect(await workspace.resolve(path)).toEqual({
        path: join(root, "src/a.ts"),
        shown: "src/a.ts",
      });
    }
  });

  test("may be that of something that does not exist yet", async () => {
    const { workspace } = await aWorkspace();

    expect(await workspace.resolve("new/~/ü.txt")).toMatchObject({ shown: "new/~/ü.txt" });
    expect(await workspace.resolve("~")).toMatchObject({ shown: "~" });
  });

  test("that leads outside is rejected, whether or not something is there", async () => {
    const { folder, root, workspace } = await aWorkspace();
    symlinkSync(folder, join(root, "up"));
    symlinkSync("../secret.txt", join(root, "out.txt"));
    const paths = [
      "../secret.txt",
      "../missing.txt",
      "/etc/passwd",
      "/etc/passwd/x",
      "/nowhere/x",
      `${root}-other/x`,
      "up/secret.txt",
      "up/new/x",
      "out.txt",
    ];

    for (const path of paths) {
      await expect(workspace.resolve(path)).rejects.toThrow(
        `${path} is outside the workspace (${root})`,
      );
    }
  });

  test("that no file can have is rejected with its reason", async () => {
    const { root, workspace } = await aWorkspace();
    symlinkSync("nowhere", join(root, "dangling"));
    symlinkSync("loop", join(root, "loop"));

    await expect(workspace.resolve("")).rejects.toThrow("The path is empty");
    await expect(workspace.resolve("a\0b")).rejects.toThrow("NUL");
    await expect(workspace.resolve("a\uD800b")).rejects.toThrow("not valid Unicode");
    await expect(workspace.resolve("x".repeat(300))).rejects.toThrow("is too long for a path");
    await expect(workspace.resolve("src/a.ts/b")).rejects.toThrow("is below a file");
    await expect(workspace.resolve("dangling")).rejects.toThrow(
      "dangling is a link to something that does not exist",
    );
    await expect(workspace.resolve("dangling/x")).rejects.toThrow(
      "dangling is a link to something",
    );
    await expect(workspace.resolve("loop")).rejects.toThrow("cannot be followed");
  });

  test("without its last link is the place of the link itself", async () => {
    const { root, workspace } = await aWorkspace();
    symlinkSync("/etc/passwd", join(root, "out"));

    expect(await workspace.resolve("out", { followLast: false })).toMatchObject({ shown: "out" });
  });
});

describe("the roots of a workspace", () => {
  test("must be folders in the allowed roots, by their real paths", async () => {
    const { folder, root } = await aWorkspace();
    symlinkSync(folder, join(root, "sneaky"));
    const open = (path: string) => Workspace.open({ roots: [path], allowedRoots: [root] });

    expect((await open(join(root, "src"))).root).toBe(join(root, "src"));
    await expect(open(folder)).rejects.toThrow(`${folder} is not in one of the allowed roots`);
    await expect(open(join(root, "sneaky"))).rejects.toThrow("is not in one of the allowed roots");
    await expect(open(join(root, "src/a.ts"))).rejects.toThrow("is not a folder");
    await expect(open(join(root, "missing"))).rejects.toThrow("does not exist");
    await expect(Workspace.open({ roots: [] })).rejects.toThrow("name at least one folder");
  });

  test("can be several; paths in the others are absolute", async () => {
    const { folder, root } = await aWorkspace();
    mkdirSync(join(folder, "lib"));
    const workspace = await Workspace.open({ roots: [root, join(folder, "lib")] });

    expect(await workspace.resolve("../lib/x")).toEqual({
      path: join(folder, "lib/x"),
      shown: join(folder, "lib/x"),
    });
  });
});
