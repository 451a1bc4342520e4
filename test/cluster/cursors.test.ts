import { defineAgent } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import { type PublicEvent, type Task, applyEvent, textOf } from "@convoke/protocol";
import { type Server, serve } from "@convoke/server";
import { afterAll, beforeAll, beforeEach, describe, expect } from "vitest";
import { next, readAll, taskIdIn } from "../conformance/reading.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Refusal } from "../conformance/refusal.ts";
import type { Peer, Speaker, Told } from "../conformance/speaker.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { LossyMemory } from "./lossy-memory.ts";

/** What the agent of a test waits for, in its first attempt only. */
class Gates {
  /** Before it writes anything. */
  readonly begin = Promise.withResolvers<void>();
  /** After the first part. */
  readonly goOn = Promise.withResolvers<void>();
}

let gates = new Gates();
const attempts = new Map<string, number>();

/** Each attempt writes something else. */
const writer = defineAgent({
  name: "Writer",
  description: "Writes drafts.",
  run: async function* ({ step, ask, text, message: { messageId } }) {
    const { begin, goOn } = gates;
    await step("begin", () => "begun");
    if (text === "count") return yield* ["one ", "two ", "three"];
    if (text === "ask") yield `${await ask("Go on?")} `;
    const attempt = (attempts.get(messageId) ?? 0) + 1;
    attempts.set(messageId, attempt);
    if (attempt === 1) await begin.promise;
    yield `draft ${attempt} `;
    yield "goes on ";
    if (attempt === 1) await goOn.promise;
    yield "and ends";
  },
});

/** Two servers on one storage. */
const shared = new LossyMemory();
const servers: Server[] = [];

beforeAll(async () => {
  for (let place = 0; place < 2; place++) {
    const server = await serve(writer, {
      port: 0,
      host: "127.0.0.1",
      logger: createJsonLogger("error", () => undefined),
      openBackend: async () => shared.open(),
      idempotency: "always",
    });
    servers.push(server);
  }
});

afterAll(() => Promise.all(servers.map((server) => server.close())));

const [first, second] = [0, 1].map((place) => ({
  get url() {
    return servers[place]!.url;
  },
})) as [Peer, Peer];

/** The same client at both servers. */
const clients = speakersTo(first).map((atFirst, index) => {
  const atSecond = speakersTo(second)[index]!;
  return { atFirst, atSecond, binding: atFirst.binding, version: atFirst.version };
});

/** The frames of a stream up to one whose text says something. */
async function readUntil(stream: AsyncGenerator<Told, void>, text: string): Promise<Told[]> {
  const told: Told[] = [];
  while (!JSON.stringify(told.at(-1) ?? "").includes(text)) told.push(await next(stream));
  return told;
}

/** The task that frames produce. */
function fold(told: readonly Told[]): Task | undefined {
  return told.reduce<Task | undefined>((task, { event }) => applyEvent(task, event), undefined);
}

function isReset(event: PublicEvent | undefined): boolean {
  return event?.kind === "task" && event.metadata?.["resumption"] === "reset";
}

function reasonOf(error: unknown): string | undefined {
  return (error as Refusal).reason;
}

/** Without the mark, which is about the stream and not about the task. */
async function taskAt(speaker: Speaker, taskId: string): Promise<Task> {
  return { ...(await speaker.get({ taskId })), metadata: { resumption: "reset" } };
}

describe.each(clients)("over $binding $version", ({ atFirst, atSecond }) => {
  verifies(["R42", "G2"], "a stream resumes at any position, at any server", async () => {
    const request = aRequest("count");
    const told = await readAll(atFirst.stream(request));
    const taskId = taskIdIn(told);

    for (const [place, { id: lastEventId }] of told.entries()) {
      const resent = await readAll(atSecond.stream(request, { lastEventId }));
      const resubscribed = await readAll(atFirst.subscribe({ taskId }, { lastEventId }));

      expect(lastEventId).toMatch(/^\d+\.\d+$/);
      expect(resent).toEqual(told.slice(place + 1));
      expect(resubscribed).toEqual(told.slice(place + 1));
    }
  });

  verifies("G2", "a sequence alone is a cursor, as from an older server", async () => {
    const told = await readAll(atFirst.stream(aRequest("count")));

    const lastEventId = told[1]!.id.replace(/\..*/, "");
    const rest = await readAll(atSecond.subscribe({ taskId: taskIdIn(told) }, { lastEventId }));

    expect(rest).toEqual(told.slice(2));
  });

  verifies("G2", "a sequence with another epoch is not a cursor of the log", async () => {
    const told = await readAll(atFirst.stream(aRequest("count")));
    const taskId = taskIdIn(told);

    const lastEventId = `${told[1]!.id}0`;
    const again = await readAll(atSecond.subscribe({ taskId }, { lastEventId }));

    expect(isReset(again[0]?.event)).toBe(true);
    expect(fold(again)).toEqual(await taskAt(atFirst, taskId));
  });
});

verifies("G2", "runs that follow the same event have different epochs", async () => {
  const { atFirst, atSecond } = clients.at(-1)!;
  gates.begin.resolve();
  gates.goOn.resolve();
  const epochs = [1, 2].map(async () => {
    const { id: taskId } = await atFirst.sendTask(aRequest("ask"));
    const told = await readAll(atSecond.stream(aRequest({ ...aMessage("yes"), taskId })));
    return told.at(-1)!.id.replace(/.*\./, "");
  });

  // Otherwise the second of two answers, after the first one was lost, would have its cursors.
  const [one, other] = await Promise.all(epochs);
  expect(one).not.toBe(other);
});

describe.each([
  { how: "by looking", hasHints: true },
  { how: "at its next commit", hasHints: false },
])("if the storage loses its newest events and their process notices $how", ({ hasHints }) => {
  beforeEach(() => {
    gates = new Gates();
    shared.hasHints = hasHints;
  });

  /** Loses everything since a time. */
  async function loseSince(state: ReturnType<LossyMemory["state"]>): Promise<void> {
    await shared.loseSince(state);
    if (!hasHints) gates.goOn.resolve();
  }

  verifies(["G2", "G3"], "each client is reset and gets the new end of its task", async () => {
    const requests = clients.map(() => aRequest("write"));
    const streams = clients.map(({ atFirst }, n) => atFirst.stream(requests[n]!));
    const begun = await Promise.all(streams.map((stream) => readUntil(stream, "working")));
    const taskIds = begun.map(taskIdIn);
    const followers = clients.map(({ atSecond }, n) =>
      atSecond.subscribe({ taskId: taskIds[n]! }, { lastEventId: begun[n]!.at(-1)!.id }),
    );
    await expect
      .poll(() => requests.every((one) => attempts.has(one.message.messageId)))
      .toBe(true);
    const left = shared.state();
    gates.begin.resolve();
    const read = await Promise.all(streams.map((stream) => readUntil(stream, "goes on")));
    await Promise.all(followers.map((stream) => readUntil(stream, "goes on")));

    await loseSince(left);

    // A stream with events that are gone ends without a last one, so that its client resumes.
    for (const rest of await Promise.all([...streams, ...followers].map(readAll))) {
      expect(rest).toEqual([]);
    }
    for (const [n, { atFirst, atSecond }] of clients.entries()) {
      const taskId = taskIds[n]!;
      await expect
        .poll(async () => (await atSecond.get({ taskId })).status.state)
        .toBe("completed");
      const reading = { lastEventId: read[n]!.at(-1)!.id };

      const resubscribed = await readAll(atSecond.subscribe({ taskId }, reading));
      const resent = await readAll(atFirst.stream(requests[n]!, reading));

      for (const again of [resubscribed, resent]) {
        expect(isReset(again[0]?.event)).toBe(true);
        expect(fold(again)).toEqual(await taskAt(atFirst, taskId));
      }
      expect(textOf(fold(resent)!)).toBe("draft 2 goes on and ends");
    }
  });

  verifies(["G2", "G11"], "a lost answer can be given again", async () => {
    const { atFirst, atSecond } = clients.at(-1)!;
    const asked = await readAll(atFirst.stream(aRequest("ask")));
    const taskId = taskIdIn(asked);
    const stream = atFirst.subscribe({ taskId }, { lastEventId: asked.at(-1)!.id });
    const left = shared.state();
    gates.begin.resolve();
    const answer = aRequest({ ...aMessage("yes"), taskId }, { blocking: false });
    await atSecond.send(answer);
    const read = await readUntil(stream, "goes on");

    await loseSince(left);

    expect(await readAll(stream)).toEqual([]);
    const again = atFirst.subscribe({ taskId }, { lastEventId: read.at(-1)!.id });
    const reset = await next(again);
    expect(isReset(reset.event)).toBe(true);
    expect(fold([reset])?.status.state).toBe("input-required");

    await atFirst.send(answer);
    const told = fold([reset, ...(await readAll(again))])!;
    expect(told.status.state).toBe("completed");
    expect(textOf(told)).toBe("yes draft 2 goes on and ends");
    expect(textOf(await atSecond.get({ taskId }))).toBe(textOf(told));
  });

  verifies("G2", "nobody waits for a task that is lost", async () => {
    const { atFirst, atSecond } = clients.at(-1)!;
    const left = shared.state();
    gates.begin.resolve();
    const stream = atFirst.stream(aRequest("write"));
    const read = await readUntil(stream, "goes on");
    const taskId = taskIdIn(read);
    const follower = atSecond.subscribe({ taskId }, { lastEventId: read[0]!.id });
    await readUntil(follower, "goes on");
    const request = aRequest("write");
    const sent = atFirst.send(request).catch(reasonOf);
    await expect.poll(() => attempts.has(request.message.messageId)).toBe(true);

    await loseSince(left);

    expect(await readAll(stream)).toEqual([]);
    expect(await readAll(follower)).toEqual([]);
    expect(await sent).toBe("TaskNotFound");
    expect(await atFirst.get({ taskId }).catch(reasonOf)).toBe("TaskNotFound");
  });
});
