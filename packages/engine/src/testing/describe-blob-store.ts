import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NewBlob, BlobStore } from "../log/blob-store.ts";

interface OpenStore extends AsyncDisposable {
  readonly store: BlobStore;
}

/**
 * The contract of `BlobStore`. Every implementation runs the same tests. `open` must return an empty
 * store each time; the suite closes it.
 *
 * @param largeBytes the size of a large content, if the store handles those in another way
 */
export function describeBlobStore(
  name: string,
  open: () => Promise<OpenStore>,
  largeBytes = 300_000,
): void {
  describe(name, () => {
    test("a content is read as it was stored, whatever the id of its task is", async () => {
      await using opened = await open();
      const { store } = opened;
      for (const taskId of ["t1", "../t 1", "ä/%2e", "."]) {
        const content = Buffer.from(`content of ${taskId}`);

        await store.put(aBlob(taskId, content), () => [content]);

        expect(await read(store, taskId, content)).toEqual(content);
        expect(await store.size(aBlob(taskId, content))).toBe(content.length);
      }
    });

    test("a content that was not stored is not found, also if another task has it", async () => {
      await using opened = await open();
      const { store } = opened;
      const content = Buffer.from("of t1");
      await store.put(aBlob("t1", content), () => [content]);

      expect(await store.get(aBlob("t2", content))).toBeUndefined();
      expect(await store.size(aBlob("t1", Buffer.from("other")))).toBeUndefined();
    });

    test("a large content in many pieces is read whole or in ranges", async () => {
      await using opened = await open();
      const { store } = opened;
      const content = Buffer.alloc(largeBytes, "0123456789abcdefghijk");
      const pieces = function* (): Generator<Uint8Array> {
        for (let at = 0; at < content.length; at += 70_001) yield content.subarray(at, at + 70_001);
      };

      await store.put(aBlob("t1", content), pieces);

      expect((await read(store, "t1", content))?.equals(content)).toBe(true);
      for (const [first, last] of [
        [0, 0],
        [10, 99_999],
        [largeBytes - 3, largeBytes - 1],
      ] as const) {
        const part = await read(store, "t1", content, { first, last });
        expect(part?.equals(content.subarray(first, last + 1))).toBe(true);
      }
    });

    test("an empty content is stored", async () => {
      await using opened = await open();
      const { store } = opened;
      const content = Buffer.alloc(0);

      await store.put(aBlob("t1", content), () => []);

      expect(await read(store, "t1", content)).toEqual(content);
    });

    test("a content that breaks off or has another digest is not stored", async () => {
      await using opened = await open();
      const { store } = opened;
      const content = Buffer.from("the whole content");
      const blob = aBlob("t1", content);
      const breaksOff = async function* (): AsyncGenerator<Uint8Array> {
        yield content.subarray(0, 3);
        throw new Error("broken off");
      };

      await expect(store.put(blob, breaksOff)).rejects.toThrow();
      await expect(store.put(blob, () => [content.subarray(1)])).rejects.toThrow();
      await expect(store.put(blob, () => [Buffer.from("the other content")])).rejects.toThrow();

      expect(await store.get(blob)).toBeUndefined();
    });

    test("a content that is stored twice, also at the same time, is there once", async () => {
      await using opened = await open();
      const { store } = opened;
      const content = Buffer.from("twice");
      const blob = aBlob("t1", content);

      await Promise.all([store.put(blob, () => [content]), store.put(blob, () => [content])]);
      await store.put(blob, () => [content]);

      expect(await read(store, "t1", content)).toEqual(content);
    });

    test("the contents of a task are deleted together, and those of others stay", async () => {
      await using opened = await open();
      const { store } = opened;
      const [one, two] = [Buffer.from("one"), Buffer.from("two")];
      for (const taskId of ["t1", "t2"]) {
        for (const content of [one, two]) await store.put(aBlob(taskId, content), () => [content]);
      }

      await store.deleteTask("t1");
      await store.deleteTask("t1");

      expect(await store.get(aBlob("t1", one))).toBeUndefined();
      expect(await store.get(aBlob("t1", two))).toBeUndefined();
      expect(await read(store, "t2", two)).toEqual(two);
    });

    test("the tasks that have contents are listed, with the time of the newest one", async () => {
      await using opened = await open();
      const { store } = opened;
      // A store may round the times, or be on a machine with another clock.
      const before = Date.now() - 60_000;
      for (const taskId of ["t1", "../t 1", "t3"]) {
        for (const text of ["one", "two"]) {
          const content = Buffer.from(text);
          await store.put(aBlob(taskId, content), () => [content]);
        }
      }
      await store.deleteTask("t3");

      const listed = await all(store.tasks());

      expect(listed.map(({ taskId }) => taskId).toSorted()).toEqual(["../t 1", "t1"]);
      for (const { storedAt } of listed) expect(storedAt).toBeGreaterThan(before);
    });

    test("a store below another one has contents of its own, whatever their names are", async () => {
      await using opened = await open();
      const stores = [
        opened.store,
        opened.store.below("agents"),
        opened.store.below("../t 1"),
        opened.store.below("agents").below("agents"),
      ];
      const contents = stores.map((_, index) => Buffer.from(`content ${index}`));
      for (const [index, store] of stores.entries()) {
        const content = contents[index]!;
        await store.put(aBlob("t1", content), () => [content]);
      }
      await stores[1]!.deleteTask("t1");

      for (const [index, store] of stores.entries()) {
        const found = contents.map(async (content) =>
          (await read(store, "t1", content))?.toString(),
        );
        const isOwn = (one: Buffer, place: number) => place === index && index !== 1;
        expect(await Promise.all(found)).toEqual(
          contents.map((one, place) => (isOwn(one, place) ? one.toString() : undefined)),
        );
        const listed = (await all(store.tasks())).map(({ taskId }) => taskId);
        expect(listed).toEqual(index === 1 ? [] : ["t1"]);
      }
      const again = opened.store.below("agents").below("agents");
      expect(await read(again, "t1", contents[3]!)).toEqual(contents[3]);
    });
  });
}

function aBlob(taskId: string, content: Buffer): NewBlob {
  return { taskId, digest: hash("sha256", content, "hex"), size: content.length };
}

async function read(
  store: BlobStore,
  taskId: string,
  content: Buffer,
  range?: { readonly first: number; readonly last: number },
): Promise<Buffer | undefined> {
  const pieces = await store.get(aBlob(taskId, content), range);
  return pieces && Buffer.concat(await all(pieces));
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
