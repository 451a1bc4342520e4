import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "./config.ts";

function aConfigFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "convoke.config.mjs");
  writeFileSync(file, content);
  return file;
}

test("the settings are the default export of the file", async () => {
  const file = aConfigFile("export default { limits: { parts: 5 }, tenants: ['acme'] };");

  expect(await loadConfig(file)).toEqual({ limits: { parts: 5 }, tenants: ["acme"] });
});

test.each([
  ["export default 5;", "must export its settings: export default defineConfig("],
  ["export default { limts: {} };", 'has no setting "limts". Did you mean limits?'],
  ["import 'nothing-at-all';", "could not be loaded. The error is: "],
])("a file with %j stops the start", async (content, problem) => {
  await expect(loadConfig(aConfigFile(content))).rejects.toThrow(
    expect.objectContaining({
      name: "StartError",
      message: expect.stringContaining(problem) as string,
    }),
  );
});

test("a file that was named must exist", async () => {
  await expect(loadConfig("/nowhere.ts")).rejects.toThrow("There is no file /nowhere.ts.");
});
