import { aRegistryRecord, describeRegistryStore } from "@convoke/engine/testing";
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
