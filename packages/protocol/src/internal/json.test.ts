import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "./json.ts";

describe("numbers are written as ECMAScript writes them", () => {
  test.each([
    [0, "0"],
    [-0, "0"],
    [1.0, "1"],
    [-1.5, "-1.5"],
    [1e20, "100000000000000000000"],
    [1e21, "1e+21"],
    [1e-6, "0.000001"],
    [1e-7, "1e-7"],
    [Number("333333333.33333329"), "333333333.3333333"],
    [1e30, "1e+30"],
    [4.5, "4.5"],
    [2e-3, "0.002"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [Number("9007199254740993"), "9007199254740992"],
    [2 ** -44, "5.684341886080802e-14"],
  ])("%d is %s", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

describe("strings are escaped no more than needed", () => {
  test.each([
    ["\b\t\n\f\r", String.raw`"\b\t\n\f\r"`],
    ["\u0000\u000b\u001f", String.raw`"\u0000\u000b\u001f"`],
    ['"\\/', String.raw`"\"\\/"`],
    ["\u007f\u2028\u2029\ufeff", '"\u007f\u2028\u2029\ufeff"'],
    ["Grüße, 世界 👋", '"Grüße, 世界 👋"'],
  ])("%j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("and never normalised: two forms of é stay two", () => {
    expect(canonicalJson(["\u00e9", "e\u0301"])).toBe('["\u00e9","e\u0301"]');
  });
});

describe("keys", () => {
  test("are sorted by UTF-16 code units, in which an emoji comes before U+FB33", () => {
    const value = {
      "\ufb33": "hebrew",
      "😀": "emoji",
      "\u20ac": "euro",
      "\r": "return",
      ö: "umlaut",
      "1": "digit",
      "\u0080": "control",
      "10": "ten",
      "9": "nine",
      a: "letter",
      A: "capital",
      "": "empty",
    };

    expect(canonicalJson(value)).toBe(
      '{"":"empty","\\r":"return","1":"digit","10":"ten","9":"nine","A":"capital","a":"letter",' +
        '"\u0080":"control","ö":"umlaut","\u20ac":"euro","😀":"emoji","\ufb33":"hebrew"}',
    );
  });

  test("that are surrogate pairs are sorted by their first half, then by their second", () => {
    expect(canonicalJson({ "\u{1f602}": 2, "\u{1f601}": 1, "\u{10400}": 0, "\ue000": 3 })).toBe(
      '{"\u{10400}":0,"\u{1f601}":1,"\u{1f602}":2,"\ue000":3}',
    );
  });

  test("are sorted at every depth, while lists keep their order", () => {
    expect(canonicalJson({ b: [{ z: 1, y: [3, 1, 2] }, null], a: { d: true, c: {} } })).toBe(
      '{"a":{"c":{},"d":true},"b":[{"y":[3,1,2],"z":1},null]}',
    );
  });

  test("may be called __proto__", () => {
    expect(canonicalJson(JSON.parse('{"a":1,"__proto__":{"b":2}}'))).toBe(
      '{"__proto__":{"b":2},"a":1}',
    );
  });
});

describe("what JSON does not have is rejected with its path", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];

  test.each([
    ["NaN", { a: Number.NaN }, 'value["a"] is NaN, which JSON does not have'],
    ["infinity", [1, -Infinity], "value[1] is -Infinity, which JSON does not have"],
    ["undefined", { a: { b: undefined } }, 'value["a"]["b"] is undefined, which JSON does not'],
    ["a hole in a list", Array(1), "value[0] is undefined, which JSON does not have"],
    ["a function", { a: () => 1 }, 'value["a"] is a function, which JSON does not have'],
    ["a symbol", Symbol("a"), "value is a symbol, which JSON does not have"],
    ["a bigint", [1n], "value[0] is a bigint, which JSON does not have"],
    ["a date", { at: new Date(0) }, 'value["at"] is an instance of a class'],
    ["a map", new Map(), "value is an instance of a class"],
    ["a lone surrogate", ["a\ud800"], "value[0] has half of a surrogate pair"],
    ["a lone surrogate in a key", { "\udc00": 1 }, "has half of a surrogate pair"],
    ["a cycle", cycle, 'value["self"][0] holds itself; JSON has no cycles'],
    ["a value that is too deep", deep, "is nested deeper than 256 levels"],
  ])("%s", (_, value, message) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
    expect(() => canonicalJson(value)).toThrow(message);
  });

  test("the same object twice is not a cycle", () => {
    const shared = { a: 1 };

    expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });
});

const texts = fc.string({ unit: "binary", maxLength: 8 });
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    texts,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(texts, tie("value"), { maxKeys: 4 }),
  ),
})) as { value: Arbitrary<unknown> };

test("any value is written as by a simple reference implementation of the RFC", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(canonicalJson(value)).toBe(slowly(value));
    }),
    { numRuns: 200 },
  );
});

test("of two equally close decimal texts, the even one is written", () => {
  expect(canonicalJson([1508692975400315.25])).toBe("[1508692975400315.2]");
  expect(slowly([1508692975400315.25])).toBe("[1508692975400315.2]");
});

test("what is written reads back as the same value and is written the same again", () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = canonicalJson(value);

      expect(canonicalJson(JSON.parse(text))).toBe(text);
    }),
  );
});

/** RFC 8785 letter by letter, without using `JSON` or a sort. */
function slowly(value: unknown): string {
  if (typeof value === "number") return slowNumber(value);
  if (typeof value === "string") return slowString(value);
  if (Array.isArray(value)) return `[${value.map(slowly).join(",")}]`;
  if (typeof value !== "object" || value === null) return `${value as null | boolean}`;
  const rest = new Map(Object.entries(value));
  const members: string[] = [];
  while (rest.size > 0) {
    const least = [...rest.keys()].reduce((a, b) => (comesBefore(a, b) ? a : b));
    members.push(`${slowString(least)}:${slowly(rest.get(least))}`);
    rest.delete(least);
  }
  return `{${members.join(",")}}`;
}

function comesBefore(a: string, b: string): boolean {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const difference = a.charCodeAt(index) - b.charCodeAt(index);
    if (difference !== 0) return difference < 0;
  }
  return a.length < b.length;
}

function slowString(text: string): string {
  const short = new Map([
    [8, "b"],
    [9, "t"],
    [10, "n"],
    [12, "f"],
    [13, "r"],
    [34, '"'],
    [92, "\\"],
  ]);
  let written = "";
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const letter = short.get(unit);
    if (letter !== undefined) written += `\\${letter}`;
    else if (unit < 32) written += `\\u${unit.toString(16).padStart(4, "0")}`;
    else written += text.charAt(index);
  }
  return `"${written}"`;
}

/** ECMA-262 Number::toString, from the fewest digits that identify the number. */
function slowNumber(value: number): string {
  if (value === 0) return "0";
  if (value < 0) return `-${slowNumber(-value)}`;
  const { digits, exponent } = fewestDigits(value);
  const k = digits.length;
  const n = exponent + 1;
  if (k <= n && n <= 21) return digits + "0".repeat(n - k);
  if (0 < n && n <= 21) return `${digits.slice(0, n)}.${digits.slice(n)}`;
  if (-6 < n && n <= 0) return `0.${"0".repeat(-n)}${digits}`;
  const power = `e${n - 1 < 0 ? "-" : "+"}${Math.abs(n - 1)}`;
  return k === 1 ? digits + power : `${digits.slice(0, 1)}.${digits.slice(1)}${power}`;
}

/** As many digits as a number has; if two texts are equally close, all of its digits. */
const MOST_DIGITS = 100;

function fewestDigits(value: number): { digits: string; exponent: number } {
  for (let count = 1; count <= 17; count++) {
    const [mantissa = "", power = ""] = value.toExponential(count - 1).split("e");
    const rounded = BigInt(mantissa.replace(".", ""));
    // Of two that are equally close, `toExponential` takes the larger one and ECMA-262 the even
    // one.
    const rest = value.toExponential(MOST_DIGITS).split("e")[0]!.replace(".", "").slice(count);
    const nearest = /^50*$/.test(rest) && rounded % 2n === 1n ? rounded - 1n : rounded;
    // Next to a power of two the nearest may miss where its neighbour does not.
    for (const candidate of [nearest, nearest + 1n]) {
      if (Number(`${candidate}e${Number(power) - count + 1}`) !== value) continue;
      const digits = String(candidate).replace(/0+$/, "");
      return { digits, exponent: Number(power) + String(candidate).length - count };
    }
  }
  throw new Error(`${value} has no digits`);
}
