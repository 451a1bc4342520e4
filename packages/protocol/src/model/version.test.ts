import fc from "fast-check";
import { expect, test } from "vitest";
import { parseVersion } from "./operations.ts";

test.each([
  ["1.0", "1.0"],
  ["1.0.0", "1.0"],
  ["1.0.1", "1.0"],
  ["1.0.99", "1.0"],
  [" 1.0 ", "1.0"],
  ["0.3", "0.3"],
  ["0.3.0", "0.3"],
  ["0.4", "0.3"],
  ["1.0, 0.3", "1.0"],
  ["0.3,1.0", "0.3"],
])(
  "A2A-Version %j is %s: the patch is ignored, and of a list the first counts",
  (value, version) => {
    expect(parseVersion(value)).toBe(version);
  },
);

test.each([undefined, null, "", " ", ","])("A2A-Version %j counts as absent", (value) => {
  expect(parseVersion(value)).toBeUndefined();
});

test.each([
  "0.2",
  "0.2.9",
  "1.1",
  "2.0",
  "99.0",
  "10.0",
  "1",
  "v1.0",
  "1.0.0.0",
  "1.0-rc",
  "-1.0",
  "one",
])("A2A-Version %j is not supported, and the error lists what is", (value) => {
  expect(() => parseVersion(value)).toThrow(
    expect.objectContaining({
      reason: "VersionNotSupported",
      details: { requested: value, supported: "0.3, 1.0" },
    }),
  );
});

test("any value is a supported version, absent, or not supported", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d\.\d(\.\d)?$/)), (value) => {
      const outcome = (() => {
        try {
          return parseVersion(value);
        } catch (error) {
          return (error as { reason?: unknown }).reason;
        }
      })();

      expect(["0.3", "1.0", undefined, "VersionNotSupported"]).toContain(outcome);
    }),
  );
});
