import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { createHostCheck } from "./guard.ts";

const check = createHostCheck(["agents.example.com", "Box.Local:8080", "[fd00::1]"]);

/** Why a host is rejected, or `undefined` if it is served. */
function refusalOf(host: string | undefined): A2AError | undefined {
  try {
    check(host);
    return undefined;
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
}

describe("is served", () => {
  for (const host of [
    "localhost",
    "localhost:3000",
    "LocalHost:3000",
    "127.0.0.1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:3000",
    "agents.example.com",
    "agents.example.com:443",
    "AGENTS.EXAMPLE.COM",
    "box.local:8080",
    "BOX.LOCAL:8080",
    "[FD00::1]:3000",
  ]) {
    test(host, () => {
      expect(refusalOf(host)).toBeUndefined();
    });
  }
});

describe("is rejected", () => {
  for (const host of [
    undefined,
    "",
    ":3000",
    "evil.example",
    "evil.example:3000",
    "localhost.evil.example",
    "evil-localhost",
    "evil.example#localhost",
    "localhost:3000:3000",
    "localhost:port",
    "localhost@evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "0.0.0.0",
    "::1",
    "[::2]:3000",
    "sub.agents.example.com",
    "agents.example.com.evil.example",
    "agents.example.com, evil.example",
    "box.local",
    "box.local:8081",
  ]) {
    test(String(JSON.stringify(host)), () => {
      const refusal = refusalOf(host);

      expect(refusal?.reason).toBe("Forbidden");
      expect(refusal?.row.http).toBe(403);
      expect(refusal?.details).toEqual({ reason: "forbidden" });
    });
  }

  test("with an error that says what to do", () => {
    expect(refusalOf("Evil.Example:3000")?.detail).toBe(
      'host "evil.example:3000" is not served here; list it in CONVOKE_ALLOWED_HOSTS (allowedHosts)',
    );
  });
});

test("an empty name in the list does not allow requests without a host", () => {
  const lax = createHostCheck([""]);

  expect(() => lax(undefined)).toThrow("is not served here");
  expect(() => lax(":3000")).toThrow("is not served here");
});
