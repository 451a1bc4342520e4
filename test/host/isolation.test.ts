import { type WireClient, createWireClient, Transcript } from "@convoke/check/wire";
import type { OperationName } from "@convoke/protocol";
import { bearer } from "convoke";
import { beforeAll, describe, expect, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { jsonRpcSpeaker, speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { aDeleter, aTalker, agentAt } from "./three-agents.ts";

/** One owner, so that nothing but the agent separates the tasks. */
const OPERATOR = { authorization: "Bearer operator" };
const OWNER = { authorization: "Bearer owner" };

const server = useServer([aTalker("Ann"), aTalker("Bob"), aDeleter("Deleter")], {
  auth: [
    bearer("owner", { owner: "olga" }),
    bearer("operator", { owner: "otto", scopes: ["convoke:operate", "convoke:approve"] }),
  ],
  push: { allow: ["127.0.0.1"] },
  idempotency: "always",
});

const target = { id: "one", url: "http://127.0.0.1:9/hook" };

const UNKNOWN = "01900000-0000-7000-8000-000000000000";

/** A task of Bob that waits for an answer, with a push config. */
let theirs: { readonly taskId: string; readonly contextId: string };

beforeAll(async () => {
  const bob = jsonRpcSpeaker(agentAt(server, "bob"), "1.0").with(OWNER);
  const { id: taskId, contextId } = await bob.sendTask(aRequest("ask me"));
  await bob.setPush({ taskId, target });
  theirs = { taskId, contextId };
});

/** Every operation on a task, as its params in the JSON of a binding. */
const OPERATIONS: Readonly<
  Record<string, (taskId: string, codec: Speaker["codec"]) => readonly [OperationName, unknown]>
> = {
  get: (taskId, codec) => ["getTask", codec.encodeGetTask({ taskId })],
  cancel: (taskId, codec) => ["cancelTask", codec.encodeCancelTask({ taskId })],
  subscribe: (taskId, codec) => ["subscribeToTask", codec.encodeSubscribe({ taskId })],
  send: (taskId, codec) => ["sendMessage", sending(codec, taskId)],
  stream: (taskId, codec) => ["sendStreamingMessage", sending(codec, taskId)],
  "set a push config": (taskId, codec) => [
    "createPushConfig",
    codec.encodeCreatePushConfig({ taskId, target }),
  ],
  "get a push config": (taskId, codec) => [
    "getPushConfig",
    codec.encodeGetPushConfig({ taskId, id: "one" }),
  ],
  "list push configs": (taskId, codec) => [
    "listPushConfigs",
    codec.encodeListPushConfigs({ taskId }),
  ],
  "delete a push config": (taskId, codec) => [
    "deletePushConfig",
    codec.encodeDeletePushConfig({ taskId, id: "one" }),
  ],
};

function sending(codec: Speaker["codec"], taskId: string): unknown {
  return codec.encodeSendMessage(aRequest(aMessage("Answer.", { taskId })));
}

describe.each(speakersTo(server))("over $binding $version", ({ binding, version, codec }) => {
  const speakerTo = (peer: { readonly url: string }): Speaker =>
    speakersTo(peer)
      .find((one) => one.binding === binding && one.version === version)!
      .with(OWNER);

  verifies(
    "G13",
    "at the root and at the path of another agent, a task looks like one that does not exist",
    async () => {
      for (const peer of [server, agentAt(server, "ann"), agentAt(server, "deleter")]) {
        const client = createWireClient({
          target: { binding, version, url: peer.url, tenant: "", headers: OWNER },
          signal: new AbortController().signal,
          transcript: new Transcript(),
        });
        for (const [name, request] of Object.entries(OPERATIONS)) {
          const answerFor = async (taskId: string): Promise<string> => {
            const [operation, params] = request(taskId, codec);
            const answer = await problemOf(client, operation, params);
            return answer.replaceAll(taskId, "<id>");
          };
          const foreign = await answerFor(theirs.taskId);
          expect(foreign, `${name} at ${peer.url}`).toBe(await answerFor(UNKNOWN));
          expect(foreign, name).toContain("there is no task <id>");
        }
      }
      const { status } = await speakerTo(agentAt(server, "bob")).get({ taskId: theirs.taskId });
      expect(status.state).toBe("input-required");
    },
  );

  verifies("G13", "lists and conversations are those of the agent at the path", async () => {
    const ann = speakerTo(agentAt(server, "ann"));
    const { contextId } = theirs;

    const mine = await ann.sendTask(aRequest(aMessage("hello", { contextId })));

    expect(mine.contextId).toBe(contextId);
    expect(JSON.stringify(mine.artifacts)).toMatch(/Ann remembers \d+ messages/);
    expect(JSON.stringify(mine.artifacts)).not.toContain("What now?");
    // 0.3 has no lists.
    if (version === "0.3") return;
    for (const filter of [{}, { contextId }]) {
      const ids = (await ann.list(filter)).tasks.map(({ id }) => id);
      expect(ids).toContain(mine.id);
      expect(ids).not.toContain(theirs.taskId);
      const bobs = await speakerTo(agentAt(server, "bob")).list(filter);
      expect(bobs.tasks.map(({ id }) => id)).toEqual([theirs.taskId]);
      expect(bobs.totalSize).toBe(1);
    }
  });
});

test("a first message of a shared context finds an empty conversation", async () => {
  const contextId = "a context of several agents";
  const said = async (id: string): Promise<string> => {
    const speaker = jsonRpcSpeaker(agentAt(server, id), "1.0").with(OWNER);
    const task = await speaker.sendTask(aRequest(aMessage("hello", { contextId })));
    return JSON.stringify(task.artifacts);
  };

  expect(await said("ann")).toContain("Ann remembers 0");
  expect(await said("bob")).toContain("Bob remembers 0");
  expect(await said("ann")).toContain("Ann remembers 2");
});

verifies(
  "G6",
  "a messageId is a retry for the agent that has received it, and new for others",
  async () => {
    const message = aMessage("hello");
    const sent = async (id: string): Promise<string> => {
      const speaker = jsonRpcSpeaker(agentAt(server, id), "1.0").with(OWNER);
      return (await speaker.sendTask(aRequest(message))).id;
    };

    const [first, other, again] = [await sent("ann"), await sent("bob"), await sent("ann")];

    expect(again).toBe(first);
    expect(other).not.toBe(first);
  },
);

describe("under /convoke/", () => {
  const read = async (path: string, headers: Record<string, string>): Promise<string> =>
    (await fetch(`${server.url}${path}`, { headers })).text();

  test("an operator sees the tasks of all agents at the root, and those of one at its path", async () => {
    expect(await read("convoke/tasks?owner=*&pageSize=100", OPERATOR)).toContain(theirs.taskId);
    const below = await read("agents/ann/convoke/tasks?owner=*&pageSize=100", OPERATOR);
    expect(below).toContain('"agentId":"ann"');
    expect(below).not.toContain(theirs.taskId);
    expect(await read("convoke/pushes?state=active&owner=*", OPERATOR)).toContain(theirs.taskId);
  });

  test("any other caller sees those of the agent at the path", async () => {
    for (const path of ["tasks", `tasks/${theirs.taskId}`, "pushes?state=active"]) {
      expect(await read(`convoke/${path}`, OWNER), path).not.toContain('"input-required"');
      expect(await read(`agents/bob/convoke/${path}`, OWNER), path).toContain(theirs.taskId);
    }
  });

  test("an approval is listed and decided at the path of its agent, and by an operator at the root", async () => {
    const deleter = jsonRpcSpeaker(agentAt(server, "deleter"), "1.0").with(OWNER);
    const { id } = await deleter.sendTask(aRequest("Delete it."));
    const decide = async (base: string, headers: Record<string, string>): Promise<number> => {
      const listed = await read("agents/deleter/convoke/approvals", OWNER);
      const [approval] = (JSON.parse(listed) as { approvals: { id: string }[] }).approvals;
      const url = `${server.url}${base}convoke/approvals/${approval!.id}:answer`;
      const body = JSON.stringify({ decision: "reject", taskId: id });
      const type = { "content-type": "application/json" };
      return (await fetch(url, { method: "POST", headers: { ...headers, ...type }, body })).status;
    };

    expect(await read("agents/ann/convoke/approvals", OWNER)).toContain('"approvals":[]');
    expect(await read("convoke/approvals?owner=*", OPERATOR)).toContain('"agentId":"deleter"');
    expect(await decide("agents/ann/", OWNER)).toBe(400);
    expect(await decide("", OWNER)).toBe(400);
    expect(await decide("agents/deleter/", OWNER)).toBe(200);
  });
});

/** The text of the error of a request. */
async function problemOf(
  client: WireClient,
  operation: OperationName,
  params: unknown,
): Promise<string> {
  const isStream = operation === "subscribeToTask" || operation === "sendStreamingMessage";
  const call = { operation, params, headers: {} };
  const answer = isStream ? await client.open(call) : await client.call(call);
  if (answer.kind === "error") return JSON.stringify(answer.error);
  // In 0.3 the error of a JSON-RPC stream is its only event.
  if (answer.kind === "stream") {
    for await (const { error } of answer.events)
      if (error !== undefined) return JSON.stringify(error);
  }
  throw new Error(`${operation} was accepted`);
}
