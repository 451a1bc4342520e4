import { describeKeyValues } from "@convoke/engine/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { emptySchemas, opensSharedStorages } from "./empty-schema.suite.ts";
import { openPostgresValues } from "./key-values.ts";
import { openNotifyBus } from "./postgres-backend.ts";

const schemas = emptySchemas();

describeKeyValues("values in Postgres", async () => {
  const { url } = await schemas();
  const [a, b] = [await openPostgresValues({ url }), await openPostgresValues({ url })];
  return {
    a: a.open,
    b: b.open,
    [Symbol.asyncDispose]: async () => {
      await a[Symbol.asyncDispose]();
      await b[Symbol.asyncDispose]();
    },
  };
});

const openStorage = opensSharedStorages(openNotifyBus);

test("a hint tells other processes of a change before they look by themselves", async () => {
  // Nobody looks.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const storage = await openStorage();
  onTestFinished(() => storage.close());
  const [a, b] = [await storage.open(), await storage.open()];
  const changed = vi.fn<() => void>();
  b.sharing.values("some").watch(changed);
  b.sharing.values("other").watch(() => changed.mockReset());

  const isHeard = async (): Promise<boolean> => {
    await a.sharing.values("some").put("k", "1");
    return changed.mock.calls.length > 0;
  };

  await expect.poll(isHeard, { timeout: 20_000 }).toBe(true);
});

test("a database that cannot be used is refused with one sentence", async () => {
  const opening = openPostgresValues({ url: "postgres://convoke@localhost:1/convoke" });

  await expect(opening).rejects.toThrow("localhost:1/convoke does not answer");
});
