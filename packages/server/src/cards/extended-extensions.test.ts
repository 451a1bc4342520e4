import { expect, test } from "vitest";
import { extendedExtensions } from "./extended-extensions.ts";

const OPEN = [{ uri: "urn:open:1", required: true }, { uri: "urn:open:2" }];

test("an extended card has what the public one has, and what it adds", () => {
  expect(extendedExtensions(OPEN, [{ uri: "urn:friends:1" }])).toEqual([
    ...OPEN,
    { uri: "urn:friends:1" },
  ]);
  expect(extendedExtensions(OPEN)).toEqual(OPEN);
  expect(extendedExtensions()).toEqual([]);
});

test("it may say more of one that is there", () => {
  const told = { uri: "urn:open:2", params: { limit: 5 } };

  expect(extendedExtensions(OPEN, [told])).toEqual([OPEN[0], told]);
});

test("it cannot require what the public card does not", () => {
  expect(extendedExtensions(OPEN, [{ uri: "urn:open:1", required: true }])).toHaveLength(2);
  for (const uri of ["urn:open:2", "urn:friends:1"]) {
    expect(() => extendedExtensions(OPEN, [{ uri, required: true }])).toThrow(
      `the extended card must not require ${uri}`,
    );
  }
});

test("what it adds is checked like the rest", () => {
  expect(() => extendedExtensions(OPEN, [{ uri: "friends" }])).toThrow("must be an absolute URI");
});
