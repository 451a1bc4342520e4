import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { aRequest } from "../http/a-request.suite.ts";
import { Cors } from "../http/cors.ts";
import { Authentication } from "./authenticate.ts";
import { Guard } from "./guard.ts";

const authentication = new Authentication({});

const guard = new Guard({
  authentication,
  allowedHosts: ["box.local"],
  publicUrl: "https://agents.example.com/one/",
  cors: new Cors({ origins: ["https://app.example"] }),
});

/** Why a POST of a page is rejected, or `undefined` if it is served. */
function refusalOf(origin: string | undefined, host = "localhost:3000", method = "POST") {
  try {
    guard.admitPage(aRequest({ method, path: "/", headers: { host, origin } }));
    return undefined;
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
}

describe("is served", () => {
  test("a program, which sends no origin", () => {
    expect(refusalOf(undefined)).toBeUndefined();
  });

  test.each([
    ["http://localhost:3000", "localhost:3000"],
    ["http://127.0.0.1:3000", "127.0.0.1:3000"],
    ["http://[::1]:3000", "[::1]:3000"],
    ["http://box.local", "Box.Local"],
    // A proxy terminates TLS and forwards the original host.
    ["https://box.local", "box.local"],
    // A proxy that forwards nothing: the public URL is still ours.
    ["https://agents.example.com", "localhost:3000"],
  ])("a page of our own, %s at %s", (origin, host) => {
    expect(refusalOf(origin, host)).toBeUndefined();
  });

  test("a listed page", () => {
    expect(refusalOf("https://app.example")).toBeUndefined();
  });

  test.each(["GET", "HEAD"])("every %s request: it changes nothing", (method) => {
    expect(refusalOf("https://evil.example", "localhost:3000", method)).toBeUndefined();
  });
});

describe("is rejected", () => {
  test.each([
    "https://evil.example",
    "http://localhost:5173",
    "http://localhost",
    "http://localhost:3000.evil.example",
    "http://app.example",
    "https://app.example:8443",
    "null",
    "",
    "nonsense",
    "file://",
  ])("a page of %j", (origin) => {
    expect(refusalOf(origin)?.reason).toBe("Forbidden");
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("for every %s request", (method) => {
    expect(refusalOf("https://evil.example", "localhost:3000", method)?.row.http).toBe(403);
  });

  test("with an error that says what to do", () => {
    expect(refusalOf("http://localhost:5173")?.detail).toBe(
      'pages of "http://localhost:5173" may not call; list it in CONVOKE_CORS_ORIGINS (cors.origins)',
    );
  });
});

test("the host that a trusted proxy was reached with is our own", () => {
  const headers = {
    host: "localhost:3000",
    "x-forwarded-host": "box.local",
    origin: "https://box.local",
  };
  const request = aRequest({ method: "POST", path: "/", headers });
  const trusting = new Guard({ authentication, allowedHosts: ["box.local"], trustProxy: true });

  expect(() => trusting.admitPage(request)).not.toThrow();
  expect(() => guard.admitPage(request)).toThrow("Forbidden");
});
