import { expect, test } from "vitest";
import { aRequest } from "../http/a-request.suite.ts";
import type { HttpRequest } from "../http/exchange.ts";
import { requestedExtensions } from "./extensions.ts";

function requested(headers: HttpRequest["headers"]): readonly string[] {
  return [...requestedExtensions(aRequest({ headers })).uris];
}

test("lists, several headers and both names are one list, each extension once", () => {
  expect(requested({ "a2a-extensions": " urn:a:1 ,urn:b:1,," })).toEqual(["urn:a:1", "urn:b:1"]);
  expect(requested({ "a2a-extensions": ["urn:a:1", "urn:b:1, urn:a:1"] })).toEqual([
    "urn:a:1",
    "urn:b:1",
  ]);
  expect(
    requested({ "x-a2a-extensions": "urn:a:1, urn:c:1", "a2a-extensions": "urn:b:1,urn:a:1" }),
  ).toEqual(["urn:b:1", "urn:a:1", "urn:c:1"]);
  expect(requested({})).toEqual([]);
  expect(requested({ "a2a-extensions": "" })).toEqual([]);
});

test("the limit applies to both names together, and the error has both", () => {
  const many = (from: number): string =>
    Array.from({ length: 40 }, (_, place) => `urn:e:${from + place}`).join(",");

  expect(() => requested({ "a2a-extensions": many(0), "x-a2a-extensions": many(40) })).toThrow(
    "A2A-Extensions and X-A2A-Extensions must not name more than 64 extensions",
  );
});
