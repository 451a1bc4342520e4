import { expect, test } from "vitest";
import { checkedOrigins } from "./origins.ts";

test.each([
  ["https://app.example", "https://app.example"],
  [" HTTPS://App.Example ", "https://app.example"],
  ["https://app.example:443", "https://app.example"],
  ["http://localhost:5173", "http://localhost:5173"],
  ["http://[::1]:5173", "http://[::1]:5173"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
  ["vscode-webview://1b2c3", "vscode-webview://1b2c3"],
  ["*", "*"],
])("%j is listed as browsers send it: %j", (given, sent) => {
  expect(checkedOrigins([given])).toEqual([sent]);
});

test.each([
  ["https://app.example/", 'as in "https://app.example"'],
  ["https://app.example/page?x", 'as in "https://app.example"'],
  ["https://ann@app.example", 'as in "https://app.example"'],
  ["app.example", 'as in "https://app.example" or "*"'],
  ["https://*.app.example", "as in"],
  ["null", 'as in "https://app.example" or "*"'],
  ["", 'as in "https://app.example" or "*"'],
  ["file:///", 'as in "https://app.example" or "*"'],
])("%j is no origin, and the error says how one looks", (given, hint) => {
  expect(() => checkedOrigins([given])).toThrow(
    expect.objectContaining({
      name: "TypeError",
      message: expect.stringContaining(hint) as string,
    }),
  );
  expect(() => checkedOrigins([given])).toThrow("cors.origins");
});
