import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeBlobStore } from "@convoke/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { createFolderBlobStore } from "./folder-blob-store.ts";

describeBlobStore("blobs in a folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "convoke-blobs-"));
  const store = createFolderBlobStore(join(folder, "files"));
  return {
    store,
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
  };
});

test("only its user can read a stored file, and no file is visible before it is complete", async () => {
  const folder = mkdtempSync(join(tmpdir(), "convoke-blobs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = createFolderBlobStore(folder);
  const content = Buffer.from("complete");
  const digest = hash("sha256", content, "hex");
  const seen: (readonly string[])[] = [];
  const look = (): readonly string[] => readdirSync(join(folder, "t1"));

  await store.put({ taskId: "t1", digest, size: content.length }, async function* () {
    yield content.subarray(0, 4);
    seen.push(look());
    yield content.subarray(4);
  });

  expect(seen.flat()).not.toContain(digest);
  expect(look()).toEqual([digest]);
  expect(statSync(join(folder, "t1", digest)).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "t1")).mode & 0o777).toBe(0o700);
});

test("an address that is not a digest is rejected", async () => {
  const store = createFolderBlobStore(tmpdir());

  await expect(store.get({ taskId: "t1", digest: "../../etc/passwd" })).rejects.toThrow(/SHA-256/);
});
