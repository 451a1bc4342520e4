import { connect } from "@convoke/client";
import { ClientError, RemoteError } from "@convoke/client";
import { createPushReceiver } from "@convoke/client/push-receiver";
import { serve } from "convoke";

// The code of packages/client/README.md, verbatim; readme.test.ts compares and runs it.

/** Runs without printing anything. */
const console = { log: (..._words: unknown[]) => undefined, warn: (_words: string) => undefined };

export async function send(url: string): Promise<string> {
  const agent = await connect(url);
  const { text, task } = await agent.send("count 3");
  console.log(text, task?.status.state);
  return text;
}

export async function stream(url: string): Promise<string> {
  const agent = await connect(url);
  const run = agent.stream("count 5");
  for await (const delta of run.text) console.log(delta);
  const { text, task, question } = await run.result;
  console.log(text, task?.id, question?.text);
  return text;
}

export async function keep(url: string): Promise<string> {
  const agent = await connect(url);
  const texts = new Map<string | undefined, string>();
  for await (const { artifactId, text, replaces } of agent.stream("count 5").pieces) {
    // `replaces`: drop what you had of this artifact.
    texts.set(artifactId, (replaces ? "" : (texts.get(artifactId) ?? "")) + text);
  }
  return [...texts.values()].join("\n");
}

export async function goOn(
  url: string,
  { taskId, lastEventId }: { readonly taskId: string; readonly lastEventId?: string },
): Promise<string | undefined> {
  const agent = await connect(url);
  const run = agent.subscribe(taskId, { lastEventId });
  for await (const event of run) console.log(run.lastEventId, event.kind);
  return run.task?.status.state;
}

export async function converse(
  url: string,
  ask: (question: string) => Promise<string>,
): Promise<string> {
  const agent = await connect(url);
  const conversation = agent.conversation({ onQuestion: ({ text }) => ask(text) });
  const { text } = await conversation.say("ask").result;
  const kept = JSON.stringify(conversation.state);
  const later = agent.conversation({ state: JSON.parse(kept) });
  console.log(text, await later.say("remember").result);
  return text;
}

export async function choose(url: string, key: string): Promise<string> {
  const agent = await connect(url, {
    auth: { apiKey: { in: "header", name: "X-Api-Key", value: key } },
    bindings: ["grpc", "jsonrpc"],
    onNotice: ({ message }) => console.warn(message),
  });
  console.log(agent.name, agent.version, agent.binding, agent.url);
  return agent.binding;
}

export async function bridge(url: string): Promise<Awaited<ReturnType<typeof serve>>> {
  const server = await serve(await connect(url), { port: 0 });
  console.log(server.url);
  return server;
}

export async function explain(url: string): Promise<string> {
  try {
    await (await connect(url)).get("no such task");
  } catch (error) {
    if (error instanceof RemoteError) return `the agent said no: ${error.reason} ${error.message}`;
    if (error instanceof ClientError) return `no answer: ${error.kind} ${error.message}`;
    throw error;
  }
  return "";
}

export async function receive(headers: Headers, body: string): Promise<number> {
  const receiver = createPushReceiver({ token: "of the push config", secret: "of the server" });
  const received = await receiver.receive({ headers, body });
  if (received.kind === "refused") return received.status;
  if (received.kind === "event") console.log(received.taskId, received.event.kind);
  return 204;
}
