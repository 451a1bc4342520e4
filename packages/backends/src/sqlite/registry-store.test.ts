import { aRegistryRecord, describeRegistryStore } from "@convoke/engine/testing";
import { readFileSync, readdirSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteRegistry } from "./registry-store.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

describeRegistryStore("the registry in SQLite", () => openSqliteRegistry(temporaryFolder()));

test("entries are still there when the registry is opened again", async () => {
  const folder = temporaryFolder();
  const before = await openSqliteRegistry(folder);
  await before.register(aRegistryRecord(), { perOwner: 1, total: 1 }, (known) => known);
  await before.close();

  const after = await openSqliteRegistry(folder);
  onTestFinished(() => after.close());

  expect(await after.get("a")).toEqual(aRegistryRecord());
});

test("a registry of a newer version is not opened", async () => {
  const folder = temporaryFolder();
  const db = new DatabaseSync(join(folder, "registry.db"));
  db.exec("PRAGMA user_version = 99");
  db.close();

  await expect(openSqliteRegistry(folder)).rejects.toThrow("has a registry.db of a newer version");
});

test("a purge leaves no byte of a deleted entry in the files", async () => {
  const folder = temporaryFolder();
  const store = await openSqliteRegistry(folder);
  onTestFinished(() => store.close());
  const secret = aRegistryRecord({ description: "a secret agent" });
  await store.register(secret, { perOwner: 1, total: 1 }, (known) => known);
  await store.delete(secret.id);

  await store.purge();

  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file)));
  expect(files.some((bytes) => bytes.includes("a secret agent"))).toBe(false);
});
