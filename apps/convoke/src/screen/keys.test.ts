import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Key, KeyDecoder } from "./keys.ts";

const ESC = "\u001B";
const PASTE = `${ESC}[200~one\r\ntwo\rthree${ESC}[201~`;

/** The keys, with neighbouring text joined: how it was split says nothing. */
function keysOf(...pieces: readonly string[]): readonly Key[] {
  const decoder = new KeyDecoder();
  const keys = [...pieces.flatMap((piece) => decoder.feed(piece)), ...decoder.flush()];
  const joined: Key[] = [];
  for (const key of keys) {
    const last = joined.at(-1);
    if (key.kind === "text" && last?.kind === "text") {
      joined[joined.length - 1] = { kind: "text", text: last.text + key.text };
    } else joined.push(key);
  }
  return joined;
}

describe("a terminal's input becomes keys", () => {
  test.each([
    [`${ESC}[A`, "up"],
    [`${ESC}OA`, "up"],
    [`${ESC}[1;5C`, "word-right"],
    [`${ESC}[3~`, "delete"],
    [`${ESC}\r`, "newline"],
    [`${ESC}[13;2u`, "newline"],
    ["\r", "enter"],
    ["\u0003", "interrupt"],
    ["\u0017", "delete-word"],
    [`${ESC}`, "escape"],
    [`${ESC}[99;99X`, "ignored"],
  ])("%j is %s", (input, name) => {
    expect(keysOf(input)).toEqual([{ kind: "key", name }]);
  });

  test("typed text and pasted text are not the same: a paste submits nothing", () => {
    expect(keysOf(`hé日${PASTE}x\r`)).toEqual([
      { kind: "text", text: "hé日" },
      { kind: "paste", text: "one\ntwo\nthree" },
      { kind: "text", text: "x" },
      { kind: "key", name: "enter" },
    ]);
  });

  test("sequences that arrive in pieces are the same keys", () => {
    const input = fc.array(
      fc.constantFrom("a", "日", "\r", `${ESC}[A`, `${ESC}[1;5D`, `${ESC}b`, PASTE),
    );
    fc.assert(
      fc.property(input, fc.array(fc.nat(60)), (keys, cuts) => {
        const whole = keys.join("");
        const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length];
        const sorted = places.toSorted((one, other) => one - other);
        const pieces = sorted.slice(1).map((end, place) => whole.slice(sorted[place], end));

        expect(keysOf(...pieces)).toEqual(keysOf(whole));
      }),
    );
  });
});
