import { defineAgent } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { FaultyStorage } from "./faulty-storage.ts";
import { bodyOf, faultOf } from "./rpc.ts";
import { outline } from "./story.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

/** A secret that must never be visible to callers. */
const CANARY = "postgres://admin:canary@db";

/** Throws various errors at various moments. */
const throwing = defineAgent({
  name: "Throwing",
  description: "Throws.",
  async *run({ text }) {
    if (text === "at once") throw new Error(`cannot reach ${CANARY}`);
    yield "Half of the ans";
    if (text === "text") throw CANARY;
    if (text === "cause") throw new Error("failed", { cause: new TypeError(CANARY) });
    throw Object.assign(new RangeError(CANARY), { code: CANARY });
  },
});

for (const dialect of DIALECTS) {
  describe(`an agent that throws, seen in ${dialect.version}`, () => {
    const server = useServer(throwing);
    const client = new WireClient(server, dialect);

    for (const command of ["at once", "halfway", "text", "cause"]) {
      verifies(
        ["R6", "R36"],
        `fails its task with an errorId and without the error text (${command})`,
        async () => {
          const stream = await client.stream(command);
          const events = await stream.events();
          const { id } = await stream.task();
          const sent = await client.send(command);
          const got = await client.call("get", { id });
          const listed = await client.call("ListTasks", { includeArtifacts: true });
          const resumed = await client.subscribe(id, "0");
          await resumed.all;

          expect(outline(events).at(-1)).toBe("status failed");
          const errorId = String(events.at(-1)?.metadata?.["errorId"]);
          expect(errorId).toMatch(/^[0-9a-f]{12}$/);
          expect(events.at(-1)).toMatchObject({
            final: true,
            metadata: { reason: "agent-error", errorId },
          });
          expect(got.text).toContain(errorId);
          for (const text of [stream.raw, sent.text, got.text, listed.text, resumed.raw]) {
            expect(text).not.toContain("canary");
            expect(text).not.toContain("admin");
            expect(text).not.toContain(".test.ts");
            expect(text).not.toContain("event: error");
          }
          const lines = server.log.filter((line) => line.includes(errorId));
          expect(lines).toHaveLength(1);
          expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "error", taskId: id, errorId });
          expect(lines[0]).toContain(CANARY);
        },
      );
    }

    verifies("R6", "keeps its earlier output", async () => {
      const task = await client.sendTask("halfway");

      expect(task.artifacts).toMatchObject([{ parts: [{ text: "Half of the ans" }] }]);
    });
  });

  describe(`an agent that fails on purpose, seen in ${dialect.version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    verifies("R6", "keeps its own text, and nothing is logged as an error", async () => {
      const task = await client.sendTask("fail");

      expect(task.status).toMatchObject({
        state: "failed",
        message: { parts: [{ text: "It failed, as you asked." }] },
      });
      expect(server.log.join("")).not.toContain('"level":"error"');
    });
  });

  describe(`a storage failure, seen in ${dialect.version}`, () => {
    const storage = new FaultyStorage();
    const log: string[] = [];
    let server: Awaited<ReturnType<typeof serve>>;
    let client: WireClient;

    beforeAll(async () => {
      server = await serve(demoAgent, {
        port: 0,
        host: "127.0.0.1",
        logger: createJsonLogger("debug", (line) => log.push(line)),
        openBackend: () => Promise.resolve(storage.open()),
      });
      client = new WireClient(server, dialect);
    });
    afterEach(() => storage.heal());
    afterAll(() => server.close());

    for (const verb of ["send", "stream"] as const) {
      verifies(
        "R6",
        `answers a ${verb} with -32603 and an errorId that is also in the log`,
        async () => {
          const messageId = `failing-${verb}`;
          const message = { messageId, role: dialect.user, parts: [dialect.text("hello")] };
          storage.failCommits(new Error(`disk full at ${CANARY}`));

          const answer = await client.call(verb, { message });

          const { code, details } = faultOf(answer);
          expect(answer.status).toBe(200);
          expect(bodyOf(answer).id).toBe(1);
          expect(code).toBe(-32603);
          expect(answer.text).not.toContain("canary");
          expect(answer.text).not.toContain("disk");
          const line = log.find((each) => each.includes(String(details["errorId"])));
          expect(line).toContain(CANARY);

          // Nothing was stored, so the same message can be sent again once the disk has space.
          storage.heal();
          const again = await client.sendTask("hello", { message: { messageId } });
          expect(again.status.state).toBe("completed");
        },
      );
    }

    verifies(
      "R36",
      "in the middle of a stream sends one error event and ends the stream",
      async () => {
        const task = await client.sendTask("slow 3");
        // The task is found, but its events cannot be read.
        storage.failReads(new Error(`bad sector at ${CANARY}`), { after: 1 });

        const stream = await client.subscribe(task.id, "2");
        const frames = await stream.all;

        expect(frames).toHaveLength(1);
        expect(frames[0]?.event).toBe("error");
        expect(frames[0]?.body).toMatchObject({ jsonrpc: "2.0", id: 1, error: { code: -32603 } });
        expect(stream.raw).not.toContain("canary");
        const { details } = faultOf({
          status: 200,
          headers: new Headers(),
          text: frames[0]?.text ?? "",
        });
        const line = log.find((each) => each.includes(String(details["errorId"])));
        expect(line).toContain(CANARY);

        storage.heal();
        const rest = await (await client.subscribe(task.id, "2")).events();
        expect(outline(rest).at(-1)).toBe("status completed");
      },
    );
  });
}
