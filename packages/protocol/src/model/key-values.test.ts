import { expect, test } from "vitest";
import { type KeyValueStore, followValue } from "./key-values.ts";

/** A collection with one value, whose reads can fail. */
function aValue() {
  let changed = (): void => {};
  const state = { value: "1", isBroken: false };
  const store: Pick<KeyValueStore, "get" | "watch"> = {
    get: async () => {
      if (state.isBroken) throw new Error("no connection");
      return { value: state.value, version: 1 };
    },
    watch: (call) => {
      changed = call;
      return () => {
        changed = () => {};
      };
    },
  };
  return { state, store: store as KeyValueStore, change: () => changed() };
}

test("a follower that could not read a change reads it again", async () => {
  const { state, store, change } = aValue();
  const [seen, errors]: [unknown[], unknown[]] = [[], []];
  const stop = followValue(store, "k", {
    apply: (value) => void seen.push(value),
    onError: (error) => {
      errors.push(error);
      state.isBroken = false;
    },
  });
  Object.assign(state, { value: "2", isBroken: true });

  change();

  await expect.poll(() => seen, { timeout: 20_000 }).toEqual(["2"]);
  expect(errors).toHaveLength(1);
  stop();
});

test("changes during a call of a slow follower are applied after it, the last one last", async () => {
  const { state, store, change } = aValue();
  const seen: unknown[] = [];
  let isFirst = true;
  const stop = followValue(store, "k", {
    apply: async (value) => {
      seen.push(`begin ${value}`);
      if (isFirst) {
        isFirst = false;
        for (const next of ["2", "3"]) {
          state.value = next;
          change();
          await Promise.resolve();
        }
      }
      seen.push(`end ${value}`);
    },
    onError: (error) => seen.push(error),
  });

  change();

  await expect.poll(() => seen).toEqual(["begin 1", "end 1", "begin 3", "end 3"]);
  stop();
  change();
  expect(seen).toHaveLength(4);
});
