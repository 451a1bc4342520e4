import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Mounted, defineAgent, mount } from "convoke";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import { Speaker } from "../conformance/speaker.ts";
import { verifies } from "../verifies.ts";

const agent = defineAgent({
  name: "Asker",
  description: "Asks, and says how much it has heard before.",
  run: async ({ text, ask, conversation }) =>
    text === "ask" ? ask("Well?") : `${conversation.length} earlier messages`,
});

let data: string;
let mounted: Mounted;
let http: Server;
const peer = { url: "" };

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "convoke-owners-"));
  mounted = await mount(agent, {
    data,
    authenticate: async ({ headers }) => ({ owner: String(headers["x-user"]) }),
  });
  http = createServer(mounted.node).listen(0, "127.0.0.1");
  await once(http, "listening");
  peer.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
});

afterAll(async () => {
  http.close();
  http.closeAllConnections();
  await mounted.close();
  await rm(data, { recursive: true, force: true });
});

const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const target = { url: "https://example.com/hook" };

/** Every operation on a task, and its response for an unknown task. */
const OPERATIONS: Readonly<Record<string, (speaker: Speaker, taskId: string) => Promise<unknown>>> =
  {
    get: (speaker, taskId) => speaker.get({ taskId }),
    cancel: (speaker, taskId) => speaker.cancel({ taskId }),
    subscribe: (speaker, taskId) => readAll(speaker.subscribe({ taskId })),
    resume: (speaker, taskId) => readAll(speaker.subscribe({ taskId }, { lastEventId: "1" })),
    send: (speaker, taskId) => speaker.send(aRequest(aMessage("mine", { taskId }))),
    stream: (speaker, taskId) => readAll(speaker.stream(aRequest(aMessage("mine", { taskId })))),
    setPush: (speaker, taskId) => speaker.setPush({ taskId, target }),
    getPush: (speaker, taskId) => speaker.getPush({ taskId, id: "one" }),
    listPush: (speaker, taskId) => speaker.listPush({ taskId }),
    deletePush: (speaker, taskId) => speaker.deletePush({ taskId, id: "one" }),
  };

describe.each([
  ["jsonrpc", "0.3"],
  ["jsonrpc", "1.0"],
  ["rest", "0.3"],
  ["rest", "1.0"],
] as const)("two owners over %s %s", (binding, version) => {
  const as = (user: string): Speaker =>
    new Speaker({ peer, binding, version, headers: { "x-user": user } });
  const ann = as(`ann-${binding}-${version}`);
  const bob = as(`bob-${binding}-${version}`);

  verifies("G13", "each get the response for an unknown id for the other's task", async () => {
    const task = await ann.sendTask(aRequest("ask"));

    for (const [name, perform] of Object.entries(OPERATIONS)) {
      const theirs = await refusalOf(perform(bob, task.id));
      const unknown = await refusalOf(perform(bob, UNKNOWN));
      expect(without(theirs, task.id), name).toEqual(without(unknown, UNKNOWN));
      expect(theirs.reason, name).toBe("TaskNotFound");
    }

    expect(await ann.get({ taskId: task.id })).toEqual(task);
  });

  verifies("G13", "share neither lists nor conversations", async () => {
    const { id, contextId } = await ann.sendTask(aRequest("hello"));

    const own = await bob.sendTask(aRequest(aMessage("hello", { contextId })));

    expect(JSON.stringify(own.artifacts)).toContain("0 earlier messages");
    // 0.3 has no lists.
    if (version === "0.3") return;
    const ids = (await bob.list()).tasks.map((one) => one.id);
    expect(ids).toContain(own.id);
    expect(ids).not.toContain(id);
  });
});

/** The text of an error, without the requested id. */
function without(refusal: object, id: string): unknown {
  const { message } = refusal as Error;
  return JSON.parse(JSON.stringify({ ...refusal, message }).replaceAll(id, "<id>"));
}
