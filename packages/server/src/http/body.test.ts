import fc from "fast-check";
import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { parseJson } from "./exchange.ts";

const MAX_DEPTH = 128;

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The thrown error, as the caller would receive it. */
function refusalOf(body: Uint8Array): A2AError {
  try {
    parseJson(body);
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
  throw new Error("the body was accepted");
}

/** So long that its depth is checked, whatever its content. */
function padded(text: string): string {
  return `${" ".repeat(1000)}${text}`;
}

/** Alternating arrays and objects, `depth` of them around a number. */
function nested(depth: number): string {
  let text = "1";
  for (let level = 0; level < depth; level++)
    text = level % 2 === 0 ? `[${text}]` : `{"a":${text}}`;
  return text;
}

describe("how deep a body may nest", () => {
  test("a body at the limit is accepted", () => {
    const body = padded(nested(MAX_DEPTH));

    expect(parseJson(bytesOf(body))).toEqual(JSON.parse(body));
  });

  test("a body one level deeper is rejected, and the error names the limit", () => {
    const refusal = refusalOf(bytesOf(padded(nested(MAX_DEPTH + 1))));

    expect(refusal.reason).toBe("InvalidRequest");
    expect(refusal.details).toEqual({ limit: "jsonDepth", maximum: String(MAX_DEPTH) });
  });

  test("the shortest body that is too deep is rejected", () => {
    const text = `${"[".repeat(MAX_DEPTH + 1)}${"]".repeat(MAX_DEPTH + 1)}`;

    expect(refusalOf(bytesOf(text)).reason).toBe("InvalidRequest");
  });

  test("a body that only opens is rejected without being parsed", () => {
    expect(refusalOf(bytesOf("[".repeat(200_000))).reason).toBe("InvalidRequest");
    expect(refusalOf(bytesOf('{"a":'.repeat(200_000))).reason).toBe("InvalidRequest");
  });

  test("many values side by side are not deep", () => {
    const text = JSON.stringify(Array.from({ length: 10_000 }, () => [{}]));

    expect(parseJson(bytesOf(text))).toHaveLength(10_000);
  });
});

describe("brackets inside strings", () => {
  const brackets = "[{".repeat(500);

  for (const [what, value] of [
    ["in a value", { text: brackets }],
    ["in a name", { [brackets]: 1 }],
    ["after an escaped quote", { text: `"${brackets}` }],
    ["after an escaped backslash", { text: `\\${brackets}`, after: `\\\\"${brackets}` }],
    ["after an escaped character", { text: `\u0001\n${brackets}` }],
  ] as const) {
    test(`do not count ${what}`, () => {
      expect(parseJson(bytesOf(JSON.stringify(value)))).toEqual(value);
    });
  }

  test("do not hide the brackets that follow the string", () => {
    const text = `{"text":"\\\\","deep":${nested(MAX_DEPTH)},"fill":"${" ".repeat(300)}"}`;

    expect(refusalOf(bytesOf(text)).reason).toBe("InvalidRequest");
  });

  test("an unterminated string is not JSON", () => {
    expect(refusalOf(bytesOf(padded(`["${brackets}`))).reason).toBe("JsonParse");
    expect(refusalOf(bytesOf(padded('["\\'))).reason).toBe("JsonParse");
  });
});

describe("invalid JSON", () => {
  for (const text of ["", " ", "{", "}", "]]", "hello", "{'a':1}", "[1,]", "\u{feff}{}", "NaN"]) {
    verifies("R3", `${JSON.stringify(text)} is a parse error`, () => {
      const refusal = refusalOf(bytesOf(text));

      expect(refusal.reason).toBe("JsonParse");
      expect(refusal.row.code).toBe(-32700);
    });
  }

  for (const [what, bytes] of [
    ["a byte that never occurs", [0x22, 0xff, 0x22]],
    ["a continuation byte without a start byte", [0x22, 0x80, 0x22]],
    ["a truncated character", [0x22, 0xe2, 0x82, 0x22]],
    ["an overlong form", [0x22, 0xc0, 0xaf, 0x22]],
    ["a lone surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ] as const) {
    verifies("R3", `${what} is not valid UTF-8, so it is a parse error`, () => {
      const refusal = refusalOf(Uint8Array.from(bytes));

      expect(refusal.reason).toBe("JsonParse");
      expect(refusal.detail).toContain("UTF-8");
    });
  }
});

test("a body that is a slice of a larger buffer is read alone", () => {
  const whole = bytesOf('xx{"text":"ä€😀"}xx');

  expect(parseJson(whole.subarray(2, -2))).toEqual({ text: "ä€😀" });
});

test("random JSON below the limit is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 20 }), fc.boolean(), (json, isLong) => {
      const text = isLong ? padded(json) : json;

      expect(parseJson(bytesOf(text))).toEqual(JSON.parse(text));
    }),
  );
});

test("random nesting is rejected exactly if it is too deep", () => {
  const level = fc.constantFrom(
    (inner: string) => `[${inner}]`,
    (inner: string) => `{"]}\\"":${inner}}`,
    (inner: string) => `["[{\\\\",${inner},[]]`,
  );
  fc.assert(
    fc.property(fc.array(level, { minLength: 100, maxLength: 150 }), (levels) => {
      const text = levels.reduce((inner, wrap) => wrap(inner), "[]");
      const depth = levels.length + 1;

      if (depth > MAX_DEPTH) {
        expect(refusalOf(bytesOf(text)).reason).toBe("InvalidRequest");
      } else {
        expect(parseJson(bytesOf(text))).toEqual(JSON.parse(text));
      }
    }),
  );
});
