import { type ConnectOptions, type RemoteAgent, connect } from "@convoke/client";
import { textOf } from "@convoke/protocol";
import type { DriveClient, OfferedProbe } from "@convoke/check";

/** Lets our own client visit a probe, as its documentation says. */
export function ourClient(options: ConnectOptions = {}): DriveClient {
  return async (probe, signal) => {
    const { token } = probe;
    const remote = await connect(probe.cardUrl, {
      cache: false,
      signal,
      ...(token !== undefined && { token }),
      ...options,
    });
    try {
      return { kind: "text", text: await perform(remote, probe, signal) };
    } finally {
      remote.close();
    }
  };
}

/** Performs the action of a probe, and returns the text that the user sees in the end. */
async function perform(
  remote: RemoteAgent,
  { action }: OfferedProbe,
  signal: AbortSignal,
): Promise<string> {
  const options = { signal, pollMs: { first: 20, most: 100 } };
  switch (action) {
    case "send":
      return (await remote.send("hello", options)).text;
    case "stream":
      return (await remote.stream("hello", options).result).text;
    case "converse": {
      const conversation = remote.conversation(options);
      await conversation.say("hello").result;
      return (await conversation.say("again").result).text;
    }
    case "answer":
      return (
        await remote.conversation({ ...options, onQuestion: () => "blue" }).say("order").result
      ).text;
    case "get":
      return textOf(await remote.get("task-1", { signal }));
    case "get-odd":
      return textOf(await remote.get("a/b c", { signal }));
    case "cancel":
      return textOf(await remote.cancel("task-1", { signal }));
    case "subscribe":
      return (await remote.subscribe("task-1", options).result).text;
    case "list":
      return listAll(remote, signal);
    case "push":
      return registerWebhook(remote, signal);
    case "extended-card":
      return String((await remote.extendedCard({ signal }))["name"]);
    default:
      return action satisfies never;
  }
}

async function listAll(remote: RemoteAgent, signal: AbortSignal): Promise<string> {
  const ids: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await remote.list({ signal, ...(pageToken !== undefined && { pageToken }) });
    ids.push(...page.tasks.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return ids.join(" ");
}

async function registerWebhook({ push }: RemoteAgent, signal: AbortSignal): Promise<string> {
  const hook = { id: "config-1", url: "https://example.com/webhook", token: "webhook-token" };
  await push.set("task-1", hook, { signal });
  await push.get("task-1", hook.id, { signal });
  const all = await push.list("task-1", { signal });
  await push.delete("task-1", hook.id, { signal });
  return all.map(({ id }) => id).join(" ");
}
