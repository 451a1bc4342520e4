import { expect, test } from "vitest";
import { aRequest } from "./a-request.suite.ts";
import { requestedVersion } from "./requested-version.ts";

test("a request that names no version asks for none", () => {
  expect(requestedVersion(aRequest())).toBeUndefined();
});

test("the version may stand in the header or in the query", () => {
  const inHeader = aRequest({ headers: { "a2a-version": "1.0" } });
  const inQuery = aRequest({ query: new URLSearchParams({ "A2A-Version": "1.0" }) });

  expect(requestedVersion(inHeader)).toBe("1.0");
  expect(requestedVersion(inQuery)).toBe("1.0");
});

test("where both stand, the header counts", () => {
  const both = aRequest({
    headers: { "a2a-version": "0.3" },
    query: new URLSearchParams({ "A2A-Version": "1.0" }),
  });

  expect(requestedVersion(both)).toBe("0.3");
});
