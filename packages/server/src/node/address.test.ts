import { expect, test } from "vitest";
import { urlOf } from "./address.ts";

test("an address is a URL that ends with a slash", () => {
  expect(urlOf({ host: "127.0.0.1", port: 3000 })).toBe("http://127.0.0.1:3000/");
  expect(urlOf({ host: "localhost", port: 80 })).toBe("http://localhost:80/");
});

test("an address of IPv6 stands in brackets", () => {
  expect(urlOf({ host: "::1", port: 3000 })).toBe("http://[::1]:3000/");
});
