import { describe, expect, test } from "vitest";
import { aFolder, serveCoder } from "./a-coder.ts";

describe("a coding agent has the limits of its server", () => {
  test.each(["/tasks", "/message/stream", "/executeCommand"])(
    "a body that is too large for %s is rejected with 413",
    async (path) => {
      const client = await serveCoder(aFolder(), { serve: { limits: { bodyBytes: 1000 } } });

      const { status } = await client.post(path, { contextId: "c".repeat(2000) });

      expect(status).toBe(413);
    },
  );

  test("a caller with too many unfinished tasks creates no more, and learns when to try again", async () => {
    const client = await serveCoder(aFolder(), { serve: { limits: { openTasks: 2 } } });

    const statuses: number[] = [];
    for (let count = 1; count <= 2; count++) {
      statuses.push((await client.post("/tasks", {})).status);
    }
    const { status, headers, text } = await client.post("/tasks", {});

    expect(statuses).toEqual([201, 201]);
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(text).toContain("openTasks");
  });
});
