import { describe, expect, test } from "vitest";
import { aRequest } from "./a-request.suite.ts";
import { Cors, isPreflight, normalizeOrigins } from "./cors.ts";
import { jsonResponse } from "./exchange.ts";

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
  expect(normalizeOrigins([given])).toEqual([sent]);
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
])("%j is not an origin, and the error shows the format", (given, hint) => {
  expect(() => normalizeOrigins([given])).toThrow(
    expect.objectContaining({
      name: "TypeError",
      message: expect.stringContaining(hint) as string,
    }),
  );
  expect(() => normalizeOrigins([given])).toThrow("cors.origins");
});

const APP = "https://app.example";
const OTHER = "https://other.example";

function from(origin: string | undefined) {
  return aRequest({ method: "POST", path: "/", headers: { host: "localhost:3000", origin } });
}

function dressed(cors: Cors, origin: string | undefined, headers = {}) {
  return cors.addHeaders(jsonResponse(200, "{}", headers), from(origin)).headers;
}

describe("with a list of origins", () => {
  const cors = new Cors({ origins: [APP, "http://localhost:5173"] });

  test("a listed page may read the response, with our headers, and without cookies", () => {
    const headers = dressed(cors, APP);

    expect(headers).toMatchObject({ "access-control-allow-origin": APP, vary: "Origin" });
    expect(headers["access-control-expose-headers"]).toContain("x-request-id");
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
  });

  test.each([OTHER, "https://app.example.evil", "http://app.example", "null", undefined])(
    "%s may not, and caches know that the response varies",
    (origin) => {
      const headers = dressed(cors, origin);

      expect(headers).toEqual({ "content-type": "application/json", vary: "Origin" });
    },
  );

  test("an existing Vary header is kept", () => {
    expect(dressed(cors, APP, { vary: "A2A-Version" })["vary"]).toBe("A2A-Version, Origin");
  });

  test("a public response stays public", () => {
    const headers = { "access-control-allow-origin": "*" };

    expect(dressed(cors, APP, headers)).toEqual({ "content-type": "application/json", ...headers });
  });

  test("a listed page gets what it may send", () => {
    const preflight = cors.preflight(from(APP));

    expect(preflight?.status).toBe(204);
    expect(preflight?.headers["access-control-allow-methods"]).toBe("GET, POST, DELETE");
    for (const name of [
      "authorization",
      "content-type",
      "a2a-version",
      "last-event-id",
      "x-api-key",
    ]) {
      expect(preflight?.headers["access-control-allow-headers"]).toContain(name);
    }
  });

  test("an unlisted page gets nothing", () => {
    expect(cors.preflight(from(OTHER))).toBeUndefined();
  });
});

describe("with *", () => {
  const cors = new Cors({ origins: ["*"] });

  test.each([APP, OTHER, "null"])("%s may read the response, and never with cookies", (origin) => {
    const headers = dressed(cors, origin);

    expect(headers["access-control-allow-origin"]).toBe("*");
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
    expect(headers).not.toHaveProperty("vary");
  });
});

test("without a list nothing is added", () => {
  expect(dressed(new Cors(), APP)).toEqual({ "content-type": "application/json" });
});

test("a preflight is OPTIONS with an origin and a method; nothing else is", () => {
  const question = { origin: APP, "access-control-request-method": "POST" };
  const { origin: _, ...anonymous } = question;

  expect(isPreflight(aRequest({ method: "OPTIONS", headers: question }))).toBe(true);
  expect(isPreflight(aRequest({ method: "POST", headers: question }))).toBe(false);
  expect(isPreflight(aRequest({ method: "OPTIONS", headers: anonymous }))).toBe(false);
  expect(isPreflight(aRequest({ method: "OPTIONS", headers: { origin: APP } }))).toBe(false);
});
