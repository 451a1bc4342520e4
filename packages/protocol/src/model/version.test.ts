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
])("A2A-Version %j is %s: a patch never counts, and of a list the first", (value, version) => {
  expect(parseVersion(value)).toBe(version);
});

test.each([undefined, null, "", " ", ","])("A2A-Version %j is none", (value) => {
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
])("A2A-Version %j is not supported, and the caller learns what is", (value) => {
  expect(() => parseVersion(value)).toThrow(
    expect.objectContaining({
      reason: "VersionNotSupported",
      details: { requested: value, supported: "0.3, 1.0" },
    }),
  );
});

test("whatever is sent is a version that we speak, none, or not supported", () => {
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
