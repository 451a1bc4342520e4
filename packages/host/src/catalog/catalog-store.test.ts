import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileCatalogStore } from "./catalog-store.ts";

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-catalog-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("a file has what was written last, for its owner alone, and nothing is left beside it", async () => {
  const folder = join(aFolder(), "data");
  const store = new FileCatalogStore(join(folder, "agents.json"));
  expect(await store.read()).toEqual({});

  await store.update(() => ({ poet: { definition: { model: "demo" } } }));
  await store.update(() => ({ poet: { changes: { model: "demo" }, isDisabled: true } }));

  const again = new FileCatalogStore(join(folder, "agents.json"));
  expect(await again.read()).toEqual({ poet: { changes: { model: "demo" }, isDisabled: true } });
  expect(readdirSync(folder)).toEqual(["agents.json"]);
  expect(statSync(join(folder, "agents.json")).mode & 0o777).toBe(0o600);
});

test.each([
  ["{", "is not JSON; restore it, or delete it to lose all changes"],
  [`{"version":2,"agents":{}}`, "has the version 2, and this program knows 1"],
  [`{"version":1,"agents":[]}`, "must have an object of agents"],
])("a file with %s is rejected", async (content, problem) => {
  const path = join(aFolder(), "agents.json");
  writeFileSync(path, content);

  await expect(new FileCatalogStore(path).read()).rejects.toThrow(problem);
});
