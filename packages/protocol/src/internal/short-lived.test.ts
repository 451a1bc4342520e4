import { describe, expect, test } from "vitest";
import { ShortLivedMap, ShortLivedSet } from "./short-lived.ts";

describe("a short-lived map", () => {
  test("has the values that were set and not deleted, in the order of their keys", () => {
    const map = new ShortLivedMap<{ readonly name: string }>();
    for (const name of ["a", "b", "c"]) map.set(name, { name });
    map.set("a", { name: "A" });
    map.delete("b");
    map.delete("unknown");

    expect(map.get("a")).toEqual({ name: "A" });
    expect(map.get("b")).toBeUndefined();
    expect([...map.values()]).toEqual([{ name: "A" }, { name: "c" }]);
  });

  test("is empty once it is cleared", () => {
    const map = new ShortLivedMap<object>();
    map.set("a", {});
    map.clear();

    expect(map.get("a")).toBeUndefined();
    expect([...map.values()]).toEqual([]);
  });
});

describe("a short-lived set", () => {
  const names = (set: ShortLivedSet<{ readonly name: string }>): string => {
    let all = "";
    set.forEach(({ name }) => (all += name));
    return all;
  };

  test("has the values that were added and not deleted, wherever they were", () => {
    const set = new ShortLivedSet<{ readonly name: string }>();
    const members = Array.from("abcde", (name) => set.add({ name }));
    set.delete(members[2]!);
    expect(names(set)).toBe("abde");
    set.delete(members[0]!);
    expect(names(set)).toBe("bde");
    set.delete(members[4]!);
    expect(names(set)).toBe("bd");
    set.add({ name: "f" });
    expect(names(set)).toBe("bdf");
  });

  test("deletes a value once", () => {
    const set = new ShortLivedSet<{ readonly name: string }>();
    const first = set.add({ name: "a" });
    set.delete(first);
    set.add({ name: "b" });
    set.delete(first);

    expect(names(set)).toBe("b");
  });

  test("skips values that are deleted while it is read", () => {
    const set = new ShortLivedSet<{ readonly name: string }>();
    const [, second] = Array.from("abc", (name) => set.add({ name }));
    const read: string[] = [];
    set.forEach(({ name }) => {
      read.push(name);
      set.delete(second!);
    });

    expect(read).toEqual(["a", "c"]);
  });

  test("refers to nothing that was in it once it is cleared", () => {
    const set = new ShortLivedSet<{ readonly name: string }>();
    const members = [set.add({ name: "a" }), set.add({ name: "b" })];
    set.clear();

    expect(set.isEmpty).toBe(true);
    expect(names(set)).toBe("");
    expect(members).toEqual([{}, {}]);
  });
});
