import { NO_VALUE, type OpenValues, updateValue } from "@convoke/protocol";
import { describe, expect, test } from "vitest";

/** A storage of values, as two processes see it. */
interface TwoProcesses extends AsyncDisposable {
  readonly a: OpenValues;
  readonly b: OpenValues;
}

/**
 * The contract of `KeyValueStore`. Every implementation runs the same tests. `open` must return an
 * empty storage each time; the suite closes it.
 */
export function describeKeyValues(name: string, open: () => Promise<TwoProcesses>): void {
  describe(name, () => {
    test("a value is read as it was written, by every process, until it is deleted", async () => {
      await using processes = await open();
      const [a, b] = [processes.a("some"), processes.b("some")];
      const text = 'a\0b\u0001 "ß" 😀';

      const version = await a.put(text, text);

      expect(await b.get(text)).toEqual({ value: text, version });
      expect(await b.list()).toEqual([{ key: text, value: text, version }]);
      expect(await processes.b("other").get(text)).toBeUndefined();
      expect(await b.delete(text)).toBe(true);
      expect(await a.get(text)).toBeUndefined();
      expect(await a.delete(text)).toBe(false);
    });

    test("the values of a collection are ordered by key, and do not contain others", async () => {
      await using processes = await open();
      const values = processes.a("some");
      for (const key of ["b", "ä", "B", "a/b", "a"]) await values.put(key, key);
      await processes.a("some/more").put("c", "c");

      const listed = (await values.list()).map(({ key }) => key);

      expect(listed).toEqual(["B", "a", "a/b", "b", "ä"]);
    });

    test("a write with a version changes nothing if another one is stored", async () => {
      await using processes = await open();
      const [a, b] = [processes.a("some"), processes.b("some")];

      const first = await a.put("k", "1", NO_VALUE);
      expect(await b.put("k", "2", NO_VALUE)).toBeUndefined();
      const second = await b.put("k", "2", first);
      expect(await a.put("k", "3", first)).toBeUndefined();
      expect(await a.delete("k", first)).toBe(false);

      expect(await a.get("k")).toEqual({ value: "2", version: second });
      expect(await a.delete("k", second)).toBe(true);
    });

    test("a value that was deleted and written again has another version", async () => {
      await using processes = await open();
      const values = processes.a("some");
      const before = await values.put("k", "1");
      await values.delete("k");

      await values.put("k", "1");

      expect(await values.put("k", "2", before)).toBeUndefined();
    });

    test("of updates at the same time none is lost", async () => {
      await using processes = await open();
      const stores = [processes.a("some"), processes.b("some")];

      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          updateValue(stores[index % 2]!, "k", (value = "") => `${value}${index}`),
        ),
      );

      const { value } = (await stores[0]!.get("k"))!;
      expect(value.split("").toSorted().join("")).toBe("0123456789");
      await updateValue(stores[0]!, "k", () => undefined);
      expect(await stores[1]!.get("k")).toBeUndefined();
    });

    test("a watcher is called at first and after each change of its collection", async () => {
      await using processes = await open();
      const [a, b] = [processes.a("some"), processes.b("some")];
      let calls = 0;
      const stopped = b.watch(() => {
        throw new Error("it was stopped");
      });
      stopped();
      const stop = b.watch(() => calls++);

      const changes = [
        () => undefined,
        () => a.put("k", "1"),
        () => a.put("k", "2"),
        () => a.delete("k"),
      ];
      for (const change of changes) {
        const before = calls;
        await change();
        await expect.poll(() => calls, EVENTUALLY).toBeGreaterThan(before);
      }
      stop();
    });
  });
}

/** Long enough for a process that looks by itself, on a busy machine. */
const EVENTUALLY = { timeout: 20_000, interval: 20 };
