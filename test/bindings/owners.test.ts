import { type WireClient, createWireClient, Transcript } from "@convoke/check/wire";
import type { Caller, OperationName } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { bearer, defineAgent } from "convoke";
import { beforeAll, describe, expect } from "vitest";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { jsonRpcSpeaker, speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const OWNER = "ann@acme";

/** Another owner of the tenant, the same name in another tenant, and the same name in none. */
const STRANGERS = ["bob@acme", "ann@beta", "ann"] as const;

const CALLERS: Readonly<Record<string, Caller>> = {
  [OWNER]: { owner: "ann", tenant: "acme" },
  "bob@acme": { owner: "bob", tenant: "acme" },
  "ann@beta": { owner: "ann", tenant: "beta" },
  ann: { owner: "ann" },
};

/** Calls a tool that needs an approval when it is asked to delete, and otherwise says what it has heard of. */
const model = scriptedModel(
  Array.from({ length: 1000 }, () => ({ transcript }) => {
    const asks = JSON.stringify(transcript.at(-1)).includes("delete");
    if (asks) return [{ kind: "tool-call", toolName: "delete", input: { path: "a" } }];
    return JSON.stringify(transcript).includes("secret")
      ? "It knows a secret."
      : "It knows nothing.";
  }),
);

const server = useServer(
  defineAgent({
    name: "Keeper",
    description: "Keeps secrets.",
    model,
    tools: [aGuardedTool().guarded],
  }),
  {
    auth: Object.entries(CALLERS).map(([token, caller]) =>
      bearer(token, { ...caller, scopes: [token] }),
    ),
    tenants: ["acme", "beta"],
    push: { allow: ["127.0.0.1"] },
    extendedCard: ({ scopes }) => ({ description: `For ${scopes![0]} alone.` }),
  },
);

const as = (token: string) => ({ authorization: `Bearer ${token}` });

/** What one caller has, and what nobody has. All ids have the same length. */
interface Ids {
  readonly taskId: string;
  readonly contextId: string;
  readonly approvalId: string;
  readonly configId: string;
}

const NOTHING = "01900000-0000-7000-8000-000000000000";

const UNKNOWN = {
  taskId: NOTHING,
  contextId: NOTHING.replace("8", "9"),
  configId: "two",
};

const target = { id: "one", url: "http://127.0.0.1:9/hook" };

/** A task that waits for an approval, with a push config. */
async function aTaskOf(token: string): Promise<Ids> {
  const speaker = jsonRpcSpeaker(server, "1.0").with(as(token));
  const { id: taskId, contextId } = await speaker.sendTask(aRequest("delete the secret"));
  const { id: configId } = await speaker.setPush({ taskId, target });
  const { approvals } = (await own(token, "approvals")) as { approvals: { id: string }[] };
  return { taskId, contextId, configId, approvalId: approvals[0]!.id };
}

let theirs: Ids;
let nobodys: Ids;
let before: unknown;

beforeAll(async () => {
  theirs = await aTaskOf(OWNER);
  nobodys = { ...UNKNOWN, approvalId: theirs.approvalId.replace(theirs.taskId, NOTHING) };
  before = await everythingOf(OWNER);
});

/** Every operation on a task, as its params in the JSON of a binding. */
const OPERATIONS: Readonly<
  Record<string, (ids: Ids, codec: Speaker["codec"]) => readonly [OperationName, unknown]>
> = {
  get: ({ taskId }, codec) => ["getTask", codec.encodeGetTask({ taskId })],
  cancel: ({ taskId }, codec) => ["cancelTask", codec.encodeCancelTask({ taskId })],
  subscribe: ({ taskId }, codec) => ["subscribeToTask", codec.encodeSubscribe({ taskId })],
  send: ({ taskId }, codec) => ["sendMessage", sending(codec, { taskId })],
  "send in its context": ({ taskId, contextId }, codec) => [
    "sendMessage",
    sending(codec, { taskId, contextId }),
  ],
  stream: ({ taskId }, codec) => ["sendStreamingMessage", sending(codec, { taskId })],
  "set a push config": ({ taskId }, codec) => [
    "createPushConfig",
    codec.encodeCreatePushConfig({ taskId, target }),
  ],
  "get a push config": ({ taskId, configId: id }, codec) => [
    "getPushConfig",
    codec.encodeGetPushConfig({ taskId, id }),
  ],
  "list push configs": ({ taskId }, codec) => [
    "listPushConfigs",
    codec.encodeListPushConfigs({ taskId }),
  ],
  "delete a push config": ({ taskId, configId: id }, codec) => [
    "deletePushConfig",
    codec.encodeDeletePushConfig({ taskId, id }),
  ],
};

function sending(codec: Speaker["codec"], ids: Partial<Ids>): unknown {
  return codec.encodeSendMessage(aRequest(aMessage("Approve it.", ids)));
}

describe.each(speakersTo(server))("over $binding $version", (speaker) => {
  const { binding, version, codec } = speaker;

  const clientOf = (token: string): WireClient =>
    createWireClient({
      target: { binding, version, url: server.url, tenant: "", headers: as(token) },
      signal: new AbortController().signal,
      transcript: new Transcript(),
    });

  verifies(
    "G13",
    "no caller can tell another's task from one that does not exist, by any operation",
    async () => {
      for (const stranger of STRANGERS) {
        const client = clientOf(stranger);
        for (const [name, request] of Object.entries(OPERATIONS)) {
          for (const headers of name === "subscribe" ? [{}, { "last-event-id": "1" }] : [{}]) {
            const answerFor = async (ids: Ids): Promise<unknown> => {
              const [operation, params] = request(ids, codec);
              return visible(await responseTo(client, { operation, params, headers }), ids);
            };
            const foreign = await answerFor(theirs);
            expect(foreign, `${name} by ${stranger}`).toEqual(await answerFor(nobodys));
            expect(foreign, name).toMatchObject({ error: { message: MESSAGE } });
          }
        }
      }
      expect(await everythingOf(OWNER)).toEqual(before);
    },
  );

  verifies("G13", "lists, conversations and cards are the caller's own", async () => {
    for (const stranger of STRANGERS) {
      const caller = speaker.with(as(stranger));
      const { contextId } = theirs;
      const message = aMessage("hello", { contextId, referenceTaskIds: [theirs.taskId] });
      const mine = await caller.sendTask(aRequest(message));

      expect(mine.contextId).toBe(contextId);
      expect(JSON.stringify(mine.artifacts)).toContain("It knows nothing.");
      const card = JSON.stringify(await caller.call("getExtendedCard", {}));
      expect(card).toContain(`For ${stranger} alone.`);
      // 0.3 has no lists.
      if (version === "0.3") continue;
      for (const filter of [{}, { contextId }]) {
        const ids = (await caller.list(filter)).tasks.map(({ id }) => id);
        expect(ids).toContain(mine.id);
        expect(ids).not.toContain(theirs.taskId);
      }
    }
  });
});

const MESSAGE = expect.stringContaining("there is no task <id>") as string;

describe("under /convoke/", () => {
  const json = { "content-type": "application/json" };
  const post = (body: object): RequestInit => ({ method: "POST", body: JSON.stringify(body) });

  verifies("G13", "no caller can tell another's id from one that does not exist", async () => {
    const requests = (
      ids: Ids,
    ): readonly (readonly [string, RequestInit, Record<string, string>?])[] => [
      [`tasks/${ids.taskId}`, {}],
      [`tasks/${ids.taskId}?at=1`, {}],
      [`tasks/${ids.taskId}?at=9999`, {}],
      [`tasks/${ids.taskId}/log`, {}],
      [`tasks/${ids.taskId}/log?after=9999`, {}],
      [`tasks/${ids.taskId}/log`, {}, { accept: "text/event-stream" }],
      [`tasks:delete`, post({ taskIds: [ids.taskId], cancel: true })],
      [`approvals/${ids.approvalId}:answer`, post({ decision: "once" })],
      [`approvals/${ids.approvalId}:answer`, post({ decision: "once", taskId: ids.taskId })],
      [`pushes:replay`, post({ taskId: ids.taskId, id: ids.configId })],
    ];
    for (const stranger of STRANGERS) {
      const answersFor = (ids: Ids): Promise<unknown> =>
        Promise.all(
          requests(ids).map(async ([path, init, more]) => {
            const headers = { ...as(stranger), ...json, ...more };
            const answer = await fetch(`${server.url}convoke/${path}`, { ...init, headers });
            const { status, headers: sent } = answer;
            const body = await answer.text();
            return visible({ status, headers: Object.fromEntries(sent), body }, ids);
          }),
        );
      const foreign = await answersFor(theirs);
      expect(foreign, stranger).toEqual(await answersFor(nobodys));
      expect(foreign).toMatchObject([
        ...Array.from({ length: 7 }, () => ({ status: 404 })),
        { status: 400 },
        { status: 400 },
        { status: 200, body: '{"replayed":0}' },
      ]);
    }
    expect(await everythingOf(OWNER)).toEqual(before);
  });

  verifies("G13", "lists have the caller's own entries only", async () => {
    const mine = await aTaskOf("bob@acme");

    for (const stranger of STRANGERS) {
      const shown = JSON.stringify(await everythingOf(stranger));
      expect(shown).not.toContain(theirs.taskId);
      expect(shown.includes(mine.taskId)).toBe(stranger === "bob@acme");
    }
    expect(JSON.stringify(await everythingOf(OWNER))).not.toContain(mine.taskId);
  });
});

/** What the routes under `/convoke/` list for a caller, without the progress of deliveries. */
async function everythingOf(token: string): Promise<unknown> {
  const { pushes } = (await own(token, "pushes?state=active")) as { pushes: Ids[] };
  return {
    tasks: await own(token, "tasks?pageSize=100"),
    approvals: await own(token, "approvals"),
    pushes: pushes.map(({ taskId }) => taskId),
  };
}

/** A body makes it a POST. */
async function own(token: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${server.url}convoke/${path}`, {
    headers: { ...as(token), "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

const STREAMS: ReadonlySet<string> = new Set(["subscribeToTask", "sendStreamingMessage"]);

/** The whole response, or the first event of a stream. */
async function responseTo(
  client: WireClient,
  call: Parameters<WireClient["call"]>[0],
): Promise<object> {
  if (!STREAMS.has(call.operation)) return client.call(call);
  const opened = await client.open(call);
  if (opened.kind === "error") return opened;
  const { headers, events } = opened;
  const { value } = await events.next();
  await events.return();
  return { headers, ...(value as object) };
}

/** Differ between any two responses; the bytes of gRPC details are compared decoded. */
const VOLATILE = [
  "date",
  "x-request-id",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "grpc-status-details-bin",
];

/** What a caller sees of a response, without the ids that it has sent itself. */
function visible(response: object, ids: Ids): unknown {
  const {
    exchange: _,
    headers,
    ...rest
  } = response as {
    readonly exchange?: unknown;
    readonly headers: Readonly<Record<string, string>>;
  };
  const kept = Object.entries(headers).filter(([name]) => !VOLATILE.includes(name));
  const text = JSON.stringify({ ...rest, headers: Object.fromEntries(kept) });
  return JSON.parse(
    text.replaceAll(ids.approvalId, "<approval>").replaceAll(ids.taskId, "<id>"),
  ) as unknown;
}
