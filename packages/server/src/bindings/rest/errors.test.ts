import { A2AError, type ErrorReason, type ProtocolVersion } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { aRequest } from "../../http/a-request.suite.ts";
import { errorResponse } from "./handle.ts";
import { type MatchedRest, matchRest } from "./routes.ts";

const PATHS = { "0.3": "/v1/tasks/x", "1.0": "/tasks/x" } as const;

describe("a transport error", () => {
  for (const version of ["0.3", "1.0"] as const) {
    test(`keeps its status, and says when to retry (${version})`, () => {
      const busy = answerTo("TooManyRequests", version);
      const stopping = answerTo("Unavailable", version);

      expect(busy.status).toBe(429);
      expect(busy.headers).toMatchObject({ "retry-after": "1" });
      expect(stopping.status).toBe(503);
      expect(stopping.headers).toMatchObject({ "retry-after": "1" });
    });
  }
});

describe("the statuses of 1.0.0", () => {
  test("are used in 1.0 if that edition is configured", () => {
    const old = answerTo("TaskNotCancelable", "1.0", "1.0.0");
    const unsupported = answerTo("UnsupportedOperation", "1.0", "1.0.0");

    expect(old.status).toBe(409);
    expect(JSON.parse(old.body as string)).toMatchObject({ error: { code: 409 } });
    expect(JSON.parse(unsupported.body as string)).toMatchObject({
      error: { code: 400, status: "UNIMPLEMENTED" },
    });
  });

  test("change nothing in 0.3, which has no such table", () => {
    expect(answerTo("TaskNotCancelable", "0.3", "1.0.0").status).toBe(400);
  });
});

function answerTo(
  reason: ErrorReason,
  version: ProtocolVersion,
  specPatch: "1.0.0" | "1.0.1" = "1.0.1",
) {
  const opened = matchRest(aRequest({ path: PATHS[version] })) as MatchedRest;
  return errorResponse({ specPatch, isStrict: false }, new A2AError(reason, "no"), opened);
}
