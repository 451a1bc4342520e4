import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { FaultyStorage } from "../wire/faulty-storage.ts";
import { chunksOf, outline } from "../wire/story.ts";
import { useServer } from "../wire/wire-server.ts";
import { RestClient, faultOf } from "./rest-client.ts";
import { OFFICIAL, REST_DIALECTS, V1 } from "./rest-dialect.ts";

describe.each(REST_DIALECTS)("a stream in $name", (dialect) => {
  const server = useServer();
  const client = new RestClient(server, dialect);

  verifies(
    "R21",
    "has the sequence numbers of the log as ids, and no envelope around its events",
    async () => {
      const stream = await client.stream("slow 3");
      const frames = await stream.all;

      expect(stream.status).toBe(200);
      expect(stream.headers.get("content-type")).toBe("text/event-stream");
      expect(stream.headers.get("cache-control")).toBe("no-cache");
      const ids = frames.map(({ id }) => Number(id));
      expect(ids).toEqual(ids.toSorted((left, right) => left - right));
      expect(new Set(ids).size).toBe(ids.length);
      expect(
        frames.every(({ event, text }) => event === "message" && !text.includes("jsonrpc")),
      ).toBe(true);
      expect(outline(stream.read(frames))).toEqual([
        "task submitted",
        "status working",
        "artifact 1 ",
        "artifact 2 ",
        "artifact 3",
        "status completed",
      ]);
    },
  );

  verifies(
    "G2",
    "resumes after the last event that the reader has, via GET and via POST",
    async () => {
      const stream = await client.stream("slow 20");
      const { id } = await stream.task(5);
      stream.leave();
      const whole = await (await client.open(`tasks/${id}:subscribe`, withCursor("0"))).all;

      for (const method of ["GET", "POST"]) {
        for (const place of [1, 4, whole.length - 2]) {
          const cursor = whole[place]!.id;

          const resumed = await client.open(`tasks/${id}:subscribe`, {
            method,
            ...withCursor(cursor),
          });

          expect((await resumed.all).map((frame) => frame.text)).toEqual(
            whole.slice(place + 1).map((frame) => frame.text),
          );
        }
      }
    },
  );

  verifies("G2", "does not end its task when the reader disconnects", async () => {
    // Long enough that it has not ended when the next request comes, on a busy machine, too.
    const stream = await client.stream("slow 150");
    const { id } = await stream.task(3);
    stream.leave();

    const rest = await client.open(`tasks/${id}:subscribe`);

    const events = await rest.events();
    expect(outline(events).at(-1)).toBe("status completed");
    expect(chunksOf(events).length).toBeGreaterThan(0);
  });

  test("that cannot start is an error and not a stream", async () => {
    const answer = await client.get("tasks/nobody:subscribe");

    expect(answer.headers.get("content-type")).toContain("json");
    expect(faultOf(answer).status).toBe(404);
  });
});

describe("a subscription to a task that has ended", () => {
  const server = useServer();

  for (const dialect of OFFICIAL) {
    const client = new RestClient(server, dialect);
    const what = dialect === V1 ? "is UNSUPPORTED_OPERATION in 1.0" : "is its snapshot in 0.3";

    verifies("R42", what, async () => {
      const task = await client.sendTask("hello");
      const path = `tasks/${task.id}:subscribe`;

      if (dialect === V1) {
        expect(faultOf(await client.get(path))).toMatchObject({
          status: 400,
          kind: "UNSUPPORTED_OPERATION",
        });
      } else {
        expect(await (await client.open(path)).events()).toEqual([task]);
      }
    });
  }
});

describe.each(OFFICIAL)("a log that can no longer be read, in $name", (dialect) => {
  const storage = new FaultyStorage();
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    server = await serve(demoAgent, {
      port: 0,
      host: "127.0.0.1",
      logger: createJsonLogger("error", () => undefined),
      openBackend: () => Promise.resolve(storage.open()),
    });
  });
  afterEach(() => storage.heal());
  afterAll(() => server.close());

  verifies("R6", "ends the stream with an error event in the format of the version", async () => {
    const client = new RestClient(server, dialect);
    const { id } = await client.sendTask("hello");
    storage.failReads(new Error("disk canary"), { after: 1 });

    const stream = await client.open(`tasks/${id}:subscribe`, withCursor("1"));

    const [frame] = await stream.all;
    expect(frame?.event).toBe("error");
    expect(JSON.parse(frame?.text ?? "")).toMatchObject(
      dialect === V1
        ? { error: { code: 500, status: "INTERNAL", details: [{ reason: "INTERNAL" }] } }
        : { code: -32603, data: { errorId: expect.any(String) } },
    );
    expect(stream.raw).not.toContain("canary");
  });
});

function withCursor(cursor: string) {
  return { headers: { "last-event-id": cursor } };
}
