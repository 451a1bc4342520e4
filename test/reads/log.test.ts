import { setTimeout as sleep } from "node:timers/promises";
import { type AgentEvent, CODECS, type Task, isPublic, isTerminal } from "@convoke/protocol";
import { beforeAll, describe, expect, test } from "vitest";
import { foldLog } from "../harness/task-log.ts";
import { verifies } from "../verifies.ts";
import { type Shown, useReadServer } from "./a-read-server.ts";

const server = useReadServer();

let task: Task;
/** The log of the task as it is stored. */
let stored: readonly Shown[];

beforeAll(async () => {
  const waiting = await server.start("operator");
  await sleep(5);
  task = await server.finish("operator", waiting);
  stored = (await server.backend.read(task.id, 0, 1000)).map(({ seq, json, at }) => ({
    seq,
    at: new Date(at!).toISOString(),
    event: JSON.parse(json) as AgentEvent,
  }));
});

const positions = (events: readonly Shown[]): readonly number[] => events.map(({ seq }) => seq);

describe("the log of a task", () => {
  test("has every event with its position and the time of its commit, notes included", async () => {
    const { status, state, head, next, events } = await server.log("operator", task.id);

    expect({ status, state, head, next }).toEqual({
      status: 200,
      state: "completed",
      head: stored.length,
      next: undefined,
    });
    expect(events.map(({ seq, at, event: { kind } }) => ({ seq, at, kind }))).toEqual(
      stored.map(({ seq, at, event: { kind } }) => ({ seq, at, kind })),
    );
    const kinds = new Set(events.map(({ event }) => event.kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining(["task", "artifact-update", "internal:llm-call", "internal:message"]),
    );
    const times = new Set(events.map(({ at }) => at));
    expect(times.size).toBeGreaterThan(1);
  });

  test("has the thoughts of a model without the signatures of its provider", async () => {
    expect(JSON.stringify(stored)).toContain("signed-by-the-provider");

    const shown = JSON.stringify(await server.log("operator", task.id));

    expect(shown).toContain("I should delete it.");
    expect(shown).not.toContain("signed-by-the-provider");
  });

  test("is read in pages of any size", async () => {
    const { events: all } = await server.log("operator", task.id);
    for (const limit of [1, 3, 7, 1000]) {
      const read: Shown[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const page = await server.log("operator", task.id, `?after=${after}&limit=${limit}`);
        expect(page.events.length).toBeLessThanOrEqual(limit);
        read.push(...page.events);
        after = page.next;
      }
      expect(read).toEqual(all);
    }
  });

  test("joins the chunks of an artifact on request, and is then as good", async () => {
    const { events } = await server.log("operator", task.id, "?join=chunks");

    const joined = events.filter(({ from }) => from !== undefined);
    expect(joined.length).toBeGreaterThan(0);
    expect(events.length).toBeLessThan(stored.length);
    expect(foldLog(events)).toEqual(foldLog(stored));
    // Each joined event covers the positions since the one before it.
    expect(events.map(({ from, seq }) => from ?? seq)).toEqual(
      events.map((_, index) => (events[index - 1]?.seq ?? 0) + 1),
    );
  });

  test("rejects parameters that it does not know, and names them", async () => {
    for (const [query, field] of [
      ["after=x", "after"],
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["join=all", "join"],
      ["notes=1", "notes"],
    ] as const) {
      const { status, error } = await server.json<{ status: number; error: object }>(
        "operator",
        `tasks/${task.id}/log?${query}`,
      );
      expect([status, JSON.stringify(error)]).toEqual([400, expect.stringContaining(field)]);
    }
  });
});

describe("a stream of the log", () => {
  verifies(
    ["G2", "G8"],
    "resumes after any event with exactly the rest, notes included",
    async () => {
      const path = `tasks/${task.id}/log`;
      const { events: all } = await server.log("operator", task.id);

      for (let cut = 0; cut < stored.length; cut++) {
        expect(await server.follow("operator", path, cut), `after ${cut}`).toEqual(all.slice(cut));
      }
    },
  );

  test("answers 204 if nothing follows in an ended task, so that clients stop reconnecting", async () => {
    const statusAfter = async (after: number, query = ""): Promise<number> => {
      const path = `tasks/${task.id}/log?after=${after}${query}`;
      const answer = await server.fetch("operator", path, { accept: "text/event-stream" });
      await answer.body?.cancel();
      return answer.status;
    };
    const { length } = stored;
    const lastShown = stored.findLast(({ event }) => isPublic(event))!.seq;

    expect(await statusAfter(length)).toBe(204);
    expect(await statusAfter(length - 1)).toBe(200);
    expect(await statusAfter(lastShown, "&notes=false")).toBe(204);
  });

  test("rejects a position beyond the log", async () => {
    const answer = await server.fetch("operator", `tasks/${task.id}/log`, {
      accept: "text/event-stream",
      "last-event-id": String(stored.length + 1),
    });

    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("Last-Event-ID");
  });

  test("follows a task until it ends", async () => {
    const waiting = await server.start("operator");
    const events: Shown[] = [];
    let finished: Promise<Task> | undefined;

    for await (const shown of await server.open("operator", `tasks/${waiting.id}/log`)) {
      events.push(shown);
      if (JSON.stringify(shown.event).includes('"state":"input-required"')) {
        finished ??= server.finish("operator", waiting);
      }
    }

    expect(isTerminal((await finished!).status.state)).toBe(true);
    expect(events).toEqual((await server.log("operator", waiting.id)).events);
  });
});

describe("a task as it was at an event", () => {
  verifies("G2", "is what the events up to that one make of it, for every event", async () => {
    for (const { seq } of stored) {
      const answer = await server.json<{ task: unknown }>("operator", `tasks/${task.id}?at=${seq}`);

      const folded = CODECS["0.3"].encodeTask(foldLog(stored.slice(0, seq)));
      expect(answer.task, `at ${seq}`).toEqual(JSON.parse(JSON.stringify(folded)));
    }
  });

  test("is rejected for positions outside the log", async () => {
    for (const at of ["0", String(stored.length + 1), "x"]) {
      expect((await server.fetch("operator", `tasks/${task.id}?at=${at}`)).status).toBe(400);
    }
  });

  test("is rejected for events that compaction has removed", async () => {
    const old = await server.finish("operator", await server.start("operator"));
    const { head } = await server.log("operator", old.id);
    const json = JSON.stringify(foldLog((await server.log("operator", old.id)).events));
    await server.backend.retention.compact(old.id, { seq: head, json });

    expect((await server.fetch("operator", `tasks/${old.id}?at=2`)).status).toBe(400);
    expect((await server.fetch("operator", `tasks/${old.id}?at=${head}`)).status).toBe(200);
    expect(await server.log("operator", old.id)).toMatchObject({ compacted: true, head });
  });
});

describe("who reads what:", () => {
  test("a caller reads its own tasks without notes, and an operator those of all owners with them", async () => {
    const own = await server.start("ann");
    const inTenant = await server.start("ann@acme");
    const outcomes: Record<string, string> = {};
    for (const token of ["ann", "bob", "operator", "ann@acme", "operator@acme"]) {
      for (const [name, { id }] of Object.entries({ own, inTenant })) {
        for (const query of ["", "?owner=*"]) {
          const { status, events } = await server.log(token, id, query);
          const hasNotes = events.some(({ event }) => !isPublic(event));
          const at = await server.fetch(token, `tasks/${id}?at=1${query.replace("?", "&")}`);
          expect(at.status).toBe(status);
          const outcome =
            status === 200 ? `200 ${hasNotes ? "with" : "without"} notes` : `${status}`;
          outcomes[`${token} ${name}${query}`] = outcome;
        }
      }
    }

    expect(outcomes).toEqual({
      "ann own": "200 without notes",
      "ann own?owner=*": "403",
      "ann inTenant": "404",
      "ann inTenant?owner=*": "403",
      "bob own": "404",
      "bob own?owner=*": "403",
      "bob inTenant": "404",
      "bob inTenant?owner=*": "403",
      "operator own": "404",
      "operator own?owner=*": "200 with notes",
      "operator inTenant": "404",
      "operator inTenant?owner=*": "200 with notes",
      "ann@acme own": "404",
      "ann@acme own?owner=*": "403",
      "ann@acme inTenant": "200 without notes",
      "ann@acme inTenant?owner=*": "403",
      "operator@acme own": "404",
      "operator@acme own?owner=*": "404",
      "operator@acme inTenant": "404",
      "operator@acme inTenant?owner=*": "200 with notes",
    });
  });

  test("a caller that is no operator cannot ask for notes, and its stream has none", async () => {
    const waiting = await server.start("ann");
    const path = `tasks/${waiting.id}/log`;
    const ended = await server.finish("ann", waiting);

    expect((await server.fetch("ann", `${path}?notes=true`)).status).toBe(403);
    const streamed = await server.follow("ann", path);
    expect(streamed.every(({ event }) => isPublic(event))).toBe(true);
    expect(foldLog(streamed).status.state).toBe(ended.status.state);
    const without = await server.log("operator", ended.id, "?owner=*&notes=false");
    expect(positions(without.events)).toEqual(positions(streamed));
  });
});
