import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";
const TRACED = {
  traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
  tracestate: "vendor=opaque",
};

const server = useServer();

for (const dialect of DIALECTS) {
  describe(`a trace in ${dialect.version}`, () => {
    const client = new WireClient(server, dialect);

    verifies(["R121", "R122"], "is on the task and on every event of its stream", async () => {
      const events = await (await client.stream("slow 3", { headers: TRACED })).events();

      const kinds = new Set(events.map(({ kind }) => kind));
      expect(kinds).toEqual(new Set(["task", "status-update", "artifact-update"]));
      const spans = new Set(events.map(({ metadata }) => metadata?.["spanId"]));
      for (const { metadata } of events) expect(metadata).toMatchObject({ traceId: TRACE_ID });
      expect(spans.size).toBe(1);
      expect([...spans][0]).toMatch(/^[0-9a-f]{16}$/);
      expect(spans).not.toContain(PARENT_ID);
    });

    verifies(["R121", "R122"], "is on files and data, and on a failure", async () => {
      for (const command of ["artifact", "fail", "ask"]) {
        const events = await (await client.stream(command, { headers: TRACED })).events();

        for (const { metadata } of events) expect(metadata).toMatchObject({ traceId: TRACE_ID });
      }
    });

    verifies("R122", "stays on the task when it is read again", async () => {
      const sent = await client.sendTask("hello", { headers: TRACED });

      const { metadata } = await client.get(sent.id);

      expect(metadata).toMatchObject({ traceId: TRACE_ID });
      expect(metadata).toEqual(sent.metadata);
    });

    verifies(
      "R122",
      "is also on what follows an answer, whether the answer has a trace or not",
      async () => {
        for (const headers of [TRACED, {}]) {
          const { id: taskId } = await client.sendTask("ask", { headers: TRACED });

          const stream = await client.stream("Ann", { message: { taskId }, headers });

          for (const { metadata } of await stream.events()) {
            expect(metadata).toMatchObject({ traceId: TRACE_ID });
          }
        }
      },
    );

    for (const [what, headers] of [
      ["absent", {}],
      ["malformed", { traceparent: "00-xyz-1-01" }],
      ["all zeros", { traceparent: `00-${"0".repeat(32)}-${PARENT_ID}-01` }],
    ] as const) {
      verifies("R122", `that is ${what} is ignored`, async () => {
        const stream = await client.stream("slow 2", { headers });
        await stream.all;

        expect(stream.raw).not.toContain("traceId");
        expect(stream.raw).not.toContain("spanId");
      });
    }
  });
}
