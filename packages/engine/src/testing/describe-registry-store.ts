import { describe, expect, onTestFinished, test } from "vitest";
import type { RegistryRecord, RegistryStore } from "../registry/registry-store.ts";

const TIME = "2026-01-01T00:00:00.000Z";

/** A record of an agent that was never checked. */
export function aRegistryRecord(fields: Partial<RegistryRecord> = {}): RegistryRecord {
  return {
    id: "a",
    owner: "ann",
    url: "https://poet.example/",
    cardUrl: "https://poet.example/.well-known/agent-card.json",
    name: "Poet",
    description: "Writes poems.",
    tags: ["art"],
    skills: [{ id: "rhyme", name: "Rhyme", description: "Finds rhymes.", tags: ["words"] }],
    registeredAt: TIME,
    heartbeatAt: TIME,
    health: { state: "unknown", checks: 0, answered: 0, failures: 0 },
    nextCheckAt: 0,
    reports: { bob: { succeeded: 1, failed: 2 } },
    ...fields,
  };
}

const LIMITS = { perOwner: 2, total: 3 };

/**
 * The contract of `RegistryStore`. Every implementation runs the same tests. `open` must return an
 * empty store each time; the suite closes it.
 */
export function describeRegistryStore(name: string, open: () => Promise<RegistryStore>): void {
  const anOpenStore = async (): Promise<RegistryStore> => {
    const store = await open();
    onTestFinished(() => store.close());
    return store;
  };

  /** Registers an entry that nobody has registered. */
  const add = (
    store: RegistryStore,
    id: string,
    owner = "ann",
  ): ReturnType<typeof store.register> =>
    store.register(aRegistryRecord({ id, owner, url: `https://${id}.example/` }), LIMITS, () => {
      throw new Error("it is new");
    });

  describe(name, () => {
    test("an entry is read as it was stored, until it is deleted", async () => {
      const store = await anOpenStore();

      const stored = await add(store, "a");

      expect(stored).toEqual(aRegistryRecord({ url: "https://a.example/" }));
      expect(await store.get("a")).toEqual(stored);
      expect(await store.delete("a")).toBe(true);
      expect(await store.get("a")).toBeUndefined();
      expect(await store.delete("a")).toBe(false);
    });

    test("an owner has one entry for a URL, and another owner has another", async () => {
      const store = await anOpenStore();
      const first = aRegistryRecord();
      const never = (): never => {
        throw new Error("it is new");
      };
      await store.register(first, LIMITS, never);

      const second = aRegistryRecord({ id: "b", name: "Bard" });
      const merged = await store.register(second, LIMITS, ({ id }) => ({ ...second, id }));
      await store.register(aRegistryRecord({ id: "c", owner: "bob" }), LIMITS, never);

      expect(merged).toEqual({ ...first, name: "Bard" });
      expect((await store.list("", 9)).map(({ id, owner }) => [id, owner])).toEqual([
        ["a", "ann"],
        ["c", "bob"],
      ]);
    });

    test("no owner and no number of owners has more entries than allowed", async () => {
      const store = await anOpenStore();
      await add(store, "a");
      await add(store, "b");

      expect(await add(store, "c")).toBe("perOwner");
      await add(store, "c", "bob");
      expect(await add(store, "d", "cid")).toBe("total");
      await store.delete("a");
      expect(await add(store, "d", "cid")).toMatchObject({ id: "d" });
    });

    test("an update sees the latest entry, and can leave it as it is", async () => {
      const store = await anOpenStore();
      await add(store, "a");

      await Promise.all(
        [1, 2, 3].map(() =>
          store.update("a", (known) => ({ ...known, nextCheckAt: known.nextCheckAt + 1 })),
        ),
      );

      expect(await store.update("a", () => undefined)).toMatchObject({ nextCheckAt: 3 });
      expect(await store.get("a")).toMatchObject({ nextCheckAt: 3 });
      expect(await store.update("b", (known) => known)).toBeUndefined();
    });

    test("entries are listed in the order of their ids, page by page", async () => {
      const store = await anOpenStore();
      await add(store, "b");
      await add(store, "c", "bob");
      await add(store, "a");

      const ids = async (after: string, limit: number): Promise<readonly string[]> =>
        (await store.list(after, limit)).map(({ id }) => id);

      expect(await ids("", 2)).toEqual(["a", "b"]);
      expect(await ids("b", 2)).toEqual(["c"]);
      expect(await ids("c", 2)).toEqual([]);
    });
  });
}
