import fc from "fast-check";
import { expect, test } from "vitest";
import { duplicateKey } from "./protected-header.ts";

test.each([
  ['{"a":1,"a":1}', "a"],
  ['{"a":1,"b":{"c":[{}]},"a":2}', "a"],
  ['{"alg":1,"\\u0061lg":2}', "alg"],
  ['[{"x":[{"k":"}"  , "k" : 1}]}]', "k"],
  ['{"":0,"":0}', ""],
  ['{"__proto__":0,"__proto__":0}', "__proto__"],
  ['{"\\"":1,"\\"":2}', '"'],
])("in %s the key %j is duplicated", (json, key) => {
  expect(JSON.parse(json)).toBeDefined();
  expect(duplicateKey(json)).toBe(key);
});

test.each([
  '{"a":{"a":{"a":"a"}}}',
  '[{"a":1},{"a":1}]',
  '{"a":"\\",\\"a\\":","b":"{\\"a\\":1"}',
  '{"a":"a","b":["a","a","b"]}',
  '{"A":1,"a":2}',
])("in %s no key is duplicated", (json) => {
  expect(JSON.parse(json)).toBeDefined();
  expect(duplicateKey(json)).toBeUndefined();
});

test("JSON from a JSON writer has no duplicate keys", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      expect(duplicateKey(JSON.stringify(value, undefined, 2))).toBeUndefined();
    }),
  );
});
