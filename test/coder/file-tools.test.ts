import { editPreview } from "@convoke/coder";
import {
  chmodSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TestWorkspace } from "./a-workspace.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("read_file", () => {
  test("returns numbered lines, and where to continue", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one\ntwo\nthree\n" });

    expect(await files.call("read_file", { path: "a.txt" })).toBe("1\tone\n2\ttwo\n3\tthree");
    expect(await files.call("read_file", { path: "a.txt", offset: 2, limit: 1 })).toBe(
      "2\ttwo\n[lines 2 to 2 of 3; continue with offset 3]",
    );
    await expect(files.call("read_file", { path: "a.txt", offset: 9 })).rejects.toThrow(
      "offset: the file has only 3 lines",
    );
  });

  test("limits its output, and the length of a line", async () => {
    const files = await TestWorkspace.with({
      "long.txt": "x".repeat(10_000),
      "many.txt": `${"y".repeat(99)}\n`.repeat(3000),
    });

    expect(await files.call("read_file", { path: "long.txt" })).toMatch(
      /^1\tx{2000}… \[8000 more characters\]$/,
    );
    const many = await files.call("read_file", { path: "many.txt" });
    expect(many.length).toBeLessThan(51_000);
    expect(many).toMatch(/\[lines 1 to (\d+) of 3000; continue with offset \d+\]$/);
  });

  test("has an image as a file of its result", async () => {
    const files = await TestWorkspace.with({ "logo.png": PNG });

    expect(await files.call("read_file", { path: "logo.png" })).toContain("image/png");

    expect(files.artifacts).toMatchObject([
      { kind: "tool:file", file: { mimeType: "image/png", bytes: PNG.toString("base64") } },
    ]);
  });

  test("rejects binary files, folders, pipes and missing files with their reason", async () => {
    const files = await TestWorkspace.with({ "a.bin": Buffer.from([1, 0, 2]), "dir/x": "" });

    await expect(files.call("read_file", { path: "a.bin" })).rejects.toThrow(
      "a.bin is a binary file of 3 bytes",
    );
    await expect(files.call("read_file", { path: "dir" })).rejects.toThrow("dir is a folder");
    await expect(files.call("read_file", { path: "no" })).rejects.toThrow("no does not exist");
  });
});

describe("edit_file", () => {
  test("keeps Windows line endings, the byte order mark and the mode of the file", async () => {
    const files = await TestWorkspace.with({ "run.bat": "\uFEFFone\r\ntwo\r\n" });
    chmodSync(join(files.root, "run.bat"), 0o751);

    await files.call("edit_file", {
      path: "run.bat",
      edits: [{ oldText: "one\ntwo", newText: "one\nnew\ntwo" }],
    });

    expect(readFileSync(join(files.root, "run.bat"), "utf8")).toBe("\uFEFFone\r\nnew\r\ntwo\r\n");
    expect(statSync(join(files.root, "run.bat")).mode & 0o777).toBe(0o751);
  });

  test("leaves a file that mixes line endings as it is, except for the edit", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one\r\ntwo\nthree\r\n" });

    await files.call("edit_file", { path: "a.txt", edits: [{ oldText: "two", newText: "2" }] });

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("one\r\n2\nthree\r\n");
  });

  test("applies all edits of a call, each to the result of the one before, or none", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one two two" });
    const edits = [
      { oldText: "one", newText: "1" },
      { oldText: "1 two", newText: "1 2" },
    ];

    await expect(
      files.call("edit_file", {
        path: "a.txt",
        edits: [...edits, { oldText: "three", newText: "3" }],
      }),
    ).rejects.toThrow("edits[2].oldText does not occur in a.txt");
    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("one two two");

    await files.call("edit_file", { path: "a.txt", edits });
    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("1 2 two");
  });

  test("rejects a text that occurs several times with their number, unless all are meant", async () => {
    const files = await TestWorkspace.with({ "a.txt": "x x x" });
    const edit = { oldText: "x", newText: "y" };

    await expect(files.call("edit_file", { path: "a.txt", edits: [edit] })).rejects.toThrow(
      "edits[0].oldText occurs 3 times in a.txt",
    );
    await files.call("edit_file", { path: "a.txt", edits: [{ ...edit, replaceAll: true }] });

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("y y y");
  });

  test("takes the new text literally", async () => {
    const files = await TestWorkspace.with({ "a.txt": "price" });

    await files.call("edit_file", {
      path: "a.txt",
      edits: [{ oldText: "price", newText: "$& $1 $$" }],
    });

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("$& $1 $$");
  });

  test("fails if the file has changed since this conversation has read it", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one" });
    await files.call("read_file", { path: "a.txt" });
    writeFileSync(join(files.root, "a.txt"), "one, by the user");
    const edit = { path: "a.txt", edits: [{ oldText: "one", newText: "1" }] };

    await expect(files.call("edit_file", edit)).rejects.toThrow(
      "a.txt has changed since it was read in this conversation. Read it again",
    );
    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("one, by the user");

    await files.call("read_file", { path: "a.txt" });
    await files.call("edit_file", edit);
    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("1, by the user");
  });

  test("of two edits at the same time, each sees the other", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one two" });
    const edit = (oldText: string) => ({ path: "a.txt", edits: [{ oldText, newText: "x" }] });

    await Promise.all([files.call("edit_file", edit("one")), files.call("edit_file", edit("two"))]);

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("x x");
  });

  test("rejects a file that is not UTF-8, instead of damaging it", async () => {
    const latin1 = Buffer.from("caf\xe9", "latin1");
    const files = await TestWorkspace.with({ "a.txt": latin1 });

    await expect(
      files.call("edit_file", { path: "a.txt", edits: [{ oldText: "caf", newText: "x" }] }),
    ).rejects.toThrow("a.txt is not a UTF-8 text file");
    expect(readFileSync(join(files.root, "a.txt"))).toEqual(latin1);
  });
});

describe("write_file", () => {
  test("creates a file with the folders above it", async () => {
    const files = await TestWorkspace.with({});

    await files.call("write_file", { path: "a/b/c.txt", content: "new" });

    expect(readFileSync(join(files.root, "a/b/c.txt"), "utf8")).toBe("new");
    expect(files.actions.at(-1)).toMatchObject({ tool: "write_file", kind: "edit" });
  });

  test("replaces a file only if this conversation has read it, also after a restart", async () => {
    const files = await TestWorkspace.with({ "a.txt": "old" });
    const write = { path: "a.txt", content: "new" };
    await expect(files.call("write_file", write)).rejects.toThrow(
      "a.txt exists and has not been read in this conversation. Read it first.",
    );
    await files.call("read_file", { path: "a.txt" });

    const restarted = await TestWorkspace.at(files.root, files.data);
    await expect(restarted.call("write_file", write, "another")).rejects.toThrow("Read it first");
    await restarted.call("write_file", write);

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("new");
  });

  test("keeps line endings and byte order mark, whether or not the model writes them", async () => {
    for (const content of ["one\ntwo\n", "\uFEFFone\r\ntwo\r\n"]) {
      const files = await TestWorkspace.with({ "a.txt": "\uFEFFone\r\n" });
      await files.call("read_file", { path: "a.txt" });

      await files.call("write_file", { path: "a.txt", content });

      expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("\uFEFFone\r\ntwo\r\n");
    }
  });

  test("creates a file again that was deleted or moved meanwhile, once that is known", async () => {
    const files = await TestWorkspace.with({ "a.txt": "a", "b.txt": "b" });
    for (const path of ["a.txt", "b.txt"]) await files.call("read_file", { path });
    rmSync(join(files.root, "a.txt"));
    await files.call("move_file", { from: "b.txt", to: "c.txt" });

    await expect(files.call("write_file", { path: "a.txt", content: "x" })).rejects.toThrow(
      "a.txt was deleted since it was read",
    );
    await files.call("write_file", { path: "a.txt", content: "x" });
    await files.call("write_file", { path: "b.txt", content: "y" });

    expect(readFileSync(join(files.root, "a.txt"), "utf8")).toBe("x");
    expect(readFileSync(join(files.root, "c.txt"), "utf8")).toBe("b");
  });

  test("writes through a link inside the workspace, and leaves the link in place", async () => {
    const files = await TestWorkspace.with({ "real.txt": "old" });
    symlinkSync("real.txt", join(files.root, "link.txt"));
    await files.call("read_file", { path: "link.txt" });

    await files.call("write_file", { path: "link.txt", content: "new" });

    expect(readlinkSync(join(files.root, "link.txt"))).toBe("real.txt");
    expect(readFileSync(join(files.root, "real.txt"), "utf8")).toBe("new");
  });
});

describe("move_file and delete_file", () => {
  test("move a link or delete it, and not the file that it leads to", async () => {
    const files = await TestWorkspace.with({ "real.txt": "old" });
    symlinkSync("real.txt", join(files.root, "link.txt"));

    await files.call("move_file", { from: "link.txt", to: "sub/moved.txt" });
    expect(readlinkSync(join(files.root, "sub/moved.txt"))).toBe("real.txt");
    await files.call("delete_file", { path: "sub/moved.txt" });

    expect(readFileSync(join(files.root, "real.txt"), "utf8")).toBe("old");
  });

  test("never overwrite, and never touch the workspace itself", async () => {
    const files = await TestWorkspace.with({ "a.txt": "a", "b.txt": "b", "dir/c.txt": "c" });

    await expect(files.call("move_file", { from: "a.txt", to: "b.txt" })).rejects.toThrow(
      "b.txt exists already",
    );
    await expect(files.call("move_file", { from: "dir", to: "dir/sub" })).rejects.toThrow(
      "dir cannot be moved into itself",
    );
    await expect(files.call("delete_file", { path: "dir" })).rejects.toThrow("set recursive");
    await expect(files.call("delete_file", { path: ".", recursive: true })).rejects.toThrow(
      "The workspace cannot be deleted",
    );
  });
});

describe("list_directory, glob and search_files", () => {
  const tree = {
    ".gitignore": "dist/\n*.log\n!keep.log\n",
    "src/a.ts": "const needle = 1;\n",
    "src/deep/b.js": "needle\nhay\nneedle\n",
    "src/deep/.gitignore": "secret.js\n",
    "src/deep/secret.js": "needle\n",
    "dist/a.js": "needle\n",
    "x.log": "needle\n",
    "keep.log": "needle\n",
    "blob.bin": Buffer.from("needle\0"),
  };

  test("list a folder with sizes and links, but not what is in its folders", async () => {
    const files = await TestWorkspace.with({ "b.txt": "12", "dir/c.txt": "" });
    symlinkSync("b.txt", join(files.root, "link"));

    expect(await files.call("list_directory", {})).toBe(
      ".keep (0 bytes)\nb.txt (2 bytes)\ndir/\nlink -> b.txt",
    );
  });

  test("find files by pattern without the ignored ones, unless they are wanted", async () => {
    const files = await TestWorkspace.with(tree);

    expect(await files.call("glob", { pattern: "**/*.{ts,js}" })).toBe("src/a.ts\nsrc/deep/b.js");
    expect(
      await files.call("glob", { pattern: "deep/*.js", path: "src", includeIgnored: true }),
    ).toBe("src/deep/b.js\nsrc/deep/secret.js");
    expect(await files.call("glob", { pattern: "*.py" })).toBe("[no file matches]");
  });

  test("search the lines of files with context, up to a limit", async () => {
    const files = await TestWorkspace.with(tree);

    expect(await files.call("search_files", { pattern: "^need\\w+", context: 1 })).toBe(
      "keep.log\n1:needle\n\nsrc/deep/b.js\n1:needle\n2-hay\n3:needle\n\n",
    );
    // Which files come first depends on the program that searches.
    const some = await files.call("search_files", {
      pattern: "NEEDLE",
      ignoreCase: true,
      limit: 2,
    });
    expect(String(some).match(/^\d+:/gm)).toHaveLength(2);
    expect(some).toMatch(/\n\[the first 2 matches; there may be more\]\n$/);
    expect(await files.call("search_files", { pattern: "a.ts", literal: true })).toBe("[no match]");
    await expect(files.call("search_files", { pattern: "(" })).rejects.toThrow(
      "The pattern is not a valid regular expression",
    );
  });

  test("search one file even if it is ignored, and use look-around", async () => {
    const files = await TestWorkspace.with(tree);

    expect(await files.call("search_files", { pattern: "need(?!x)", path: "dist/a.js" })).toBe(
      "dist/a.js\n1:needle\n\n",
    );
  });

  test("do not show what the policy does not allow to read", async () => {
    const files = await TestWorkspace.with(
      { "a.env": "key=needle", "a.txt": "needle" },
      ({ paths }) => (paths.some((path) => path.endsWith(".env")) ? "ask" : "allow"),
    );

    expect(await files.call("search_files", { pattern: "needle" })).toBe(
      "a.txt\n1:needle\n\n[1 files with matches may not be read without approval]\n",
    );
  });
});

describe("the policy", () => {
  test("is asked with the paths, and with the diff and both contents of an edit", async () => {
    const files = await TestWorkspace.with({ "a.txt": "one\ntwo\n" }, () => "ask");
    const input = { path: "a.txt", edits: [{ oldText: "two", newText: "2" }] };

    const words = await files.confirm("edit_file", input);

    const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    expect(files.actions).toMatchObject([
      { tool: "edit_file", kind: "edit", paths: [join(files.root, "a.txt")] },
    ]);
    expect(words).toEqual({
      title: "Edit a.txt",
      prompt: diff,
      preview: [
        editPreview({
          filePath: "a.txt",
          oldContent: "one\ntwo\n",
          newContent: "one\n2\n",
          diff,
        }),
        { kind: "text", text: diff, mediaType: "text/x-diff" },
      ],
    });
  });

  test("sees everything in a folder that would be moved or deleted", async () => {
    const files = await TestWorkspace.with(
      { "dir/.git/hooks/x": "", "dir/.gitignore": ".env", "dir/.env": "" },
      ({ paths }) => (paths.some((path) => path.endsWith("/.env")) ? "deny" : "allow"),
    );

    for (const [name, input] of [
      ["delete_file", { path: "dir", recursive: true }],
      ["move_file", { from: "dir", to: "other" }],
    ] as const) {
      await expect(files.call(name, input)).rejects.toThrow("does not allow it");
      expect(files.actions.at(-1)!.paths).toContain(join(files.root, "dir/.git/hooks/x"));
    }
  });

  test("can deny a call even after it was approved", async () => {
    let verdict: "ask" | "deny" = "ask";
    const files = await TestWorkspace.with({}, () => verdict);
    const input = { path: "a.txt", content: "new" };
    expect(await files.confirm("write_file", input)).toMatchObject({ title: "Create a.txt" });
    verdict = "deny";

    await expect(files.run("write_file", input)).rejects.toThrow("does not allow it");
    expect(await files.call("list_directory", {}).catch(String)).toContain("does not allow it");
  });
});
