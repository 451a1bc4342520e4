import { MemoryRegistryStore, createJsonLogger } from "@convoke/engine";
import { aRegistryRecord } from "@convoke/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { Registry, resolveRegistryOptions } from "./registry.ts";

test("an owner that is erased has no entries, and has reported nothing about those of others", async () => {
  const store = new MemoryRegistryStore();
  const logger = createJsonLogger("silent", () => undefined);
  const registry = new Registry({ options: resolveRegistryOptions({}), store, logger });
  onTestFinished(() => registry.close());
  for (const owner of ["ann", "bob"]) {
    const record = aRegistryRecord({
      id: owner,
      owner,
      url: `https://${owner}.example/`,
      reports: {},
    });
    await store.register(record, { perOwner: 1, total: 9 }, (known) => known);
    for (const reporter of ["ann", "bob"]) await registry.report(owner, reporter, "succeeded");
  }

  await registry.erase("ann");

  const left = await store.list("", 9);
  expect(left).toMatchObject([{ id: "bob", reports: { bob: { succeeded: 1 } } }]);
  expect(JSON.stringify(left)).not.toContain("ann");
});
