import type { DriveClient, OfferedProbe } from "@convoke/check";
import { ListTasksRequest } from "a2a-sdk-v1";
import { answerOf, readOut } from "../client/faults/sdk-clients.ts";
import type { Outcome } from "../client/faults/client-under-test.ts";
import type { Sdk, SdkClient, SeenTask } from "../interop/sdk-client.ts";
import { SDKS_V03 } from "../interop/sdk-v03.ts";
import { SDKS_V1, discoverV1 } from "../interop/sdk-v1.ts";

/** The official clients, used as their documentation says, by a user who stops at the end of a task. */
export const sdkV1 = driveSdk(SDKS_V1);
export const sdkV03 = driveSdk(SDKS_V03);

const TRANSPORTS = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" } as const;

function driveSdk(sdks: readonly Sdk[]): DriveClient {
  return async (probe, signal) => {
    const sdk = sdks.find(({ transport }) => transport === TRANSPORTS[probe.binding]);
    if (sdk === undefined) return { kind: "unsupported", reason: "the binding" };
    if (probe.token !== undefined && probe.binding === "grpc") {
      return { kind: "unsupported", reason: "it has no option for credentials on gRPC" };
    }
    const url = probe.cardUrl.replace(".well-known/agent-card.json", "");
    const fetchImpl = fetchFor(sdk, probe);
    if (probe.action === "list") {
      return { kind: "text", text: await listAll(url, fetchImpl, sdk) };
    }
    const client = await sdk.discover(url, fetchImpl);
    return { kind: "text", text: await perform(client, probe, signal) };
  };
}

/** Sends the token with the SDK's own means. */
function fetchFor(sdk: Sdk, { token }: OfferedProbe): typeof fetch {
  if (token === undefined) return fetch;
  return sdk.authenticate(fetch, {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
}

async function perform(
  client: SdkClient,
  probe: OfferedProbe,
  signal: AbortSignal,
): Promise<string> {
  switch (probe.action) {
    case "send":
      return textIn(answerOf(await client.send("hello")));
    case "stream":
      return textIn(await readOut(client.stream("hello", { signal }), losesAppend(probe)));
    case "converse":
      return converse(client);
    case "answer": {
      const { taskId, contextId } = (await client.send("order")) as SeenTask;
      return textIn(answerOf(await client.send("blue", { taskId, contextId })));
    }
    case "get":
      return textIn(answerOf(await client.get("task-1")));
    case "get-odd":
      return textIn(answerOf(await client.get("a/b c")));
    case "cancel":
      return textIn(answerOf(await client.cancel("task-1")));
    case "subscribe":
      return textIn(await readOut(client.subscribe("task-1", signal), losesAppend(probe)));
    case "push":
      return registerWebhook(client);
    case "extended-card":
      return client.agentName;
    case "list":
      throw new TypeError("lists are read by the SDK's own client");
    default:
      return probe.action satisfies never;
  }
}

/** 0.3.14 loses `append` over REST and gRPC. One probe shows that; elsewhere its user knows it. */
function losesAppend({ version, binding, probe }: OfferedProbe): boolean {
  return version === "0.3" && binding !== "jsonrpc" && !/-(chunks|replaced)$/.test(probe);
}

async function converse(client: SdkClient): Promise<string> {
  const first = await client.send("hello");
  const continued = first.kind === "task" ? { contextId: first.contextId } : {};
  return textIn(answerOf(await client.send("again", continued)));
}

async function registerWebhook({ pushes }: SdkClient): Promise<string> {
  const hook = { id: "config-1", url: "https://example.com/webhook", token: "webhook-token" };
  await pushes.set("task-1", hook);
  await pushes.get("task-1", hook.id);
  const all = await pushes.list("task-1");
  await pushes.delete("task-1", hook.id);
  return all.map(({ id }) => id).join(" ");
}

/** Only 1.0 has lists. */
async function listAll(url: string, fetchImpl: typeof fetch, { transport }: Sdk): Promise<string> {
  const client = await discoverV1(url, fetchImpl, transport);
  const ids: string[] = [];
  let pageToken = "";
  do {
    const page = await client.listTasks(ListTasksRequest.fromJSON({ pageToken }));
    ids.push(...page.tasks.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return ids.join(" ");
}

function textIn(outcome: Outcome): string {
  return outcome.kind === "answer" ? outcome.text : "";
}
