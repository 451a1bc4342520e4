import {
  type Answer,
  type BindingName,
  type ConnectOptions,
  type FollowOptions,
  type RemoteAgent,
  connect,
} from "@convoke/client";
import { type Binding, type Task, textOf } from "@convoke/protocol";
import { REPEATED } from "../../client-faults/index.ts";
import { type Asking, type ClientUnderTest, type Outcome, signalFor } from "./client-under-test.ts";

/** Our own client as a user has it, without any code that handles faults. */
export const ourClient: ClientUnderTest = {
  name: "ours",
  speaks: () => true,
  async ask(asking) {
    const remote = await connect(asking.agent.url, connectOptions(asking));
    try {
      return await askFor(remote, asking);
    } finally {
      remote.close();
    }
  },
};

const NAMES: Readonly<Record<Binding, BindingName>> = {
  JSONRPC: "jsonrpc",
  "HTTP+JSON": "rest",
  GRPC: "grpc",
};

function connectOptions({ scenario, speaking, agent, over }: Asking): ConnectOptions {
  const { timeoutMs, token, allowDowngrade } = scenario.settings ?? {};
  let count = 0;
  const fresh = () => `token-${(count += 1)}`;
  return {
    cache: false,
    allow: agent.others,
    retry: { baseMs: 20 },
    signal: over,
    allowDowngrade,
    timeoutMs,
    // The real agent offers every version and binding; the others have one on their card.
    ...(scenario.needsAgent === true && {
      version: speaking.version,
      bindings: [NAMES[speaking.binding]],
    }),
    ...(token === "fixed" && { token: "token-1" }),
    ...(token === "fresh" && { auth: { token: fresh } }),
  };
}

function askFor(remote: RemoteAgent, asking: Asking): Promise<Outcome> {
  const { scenario, over: signal } = asking;
  const words = scenario.needsAgent === true ? REPEATED : "Hello?";
  const options = followOptions(asking);
  switch (scenario.asks) {
    case "connect":
      return Promise.resolve({ kind: "answer", text: remote.name });
    case "send":
      return answered(remote.send(words, options));
    case "stream":
      return answered(remote.stream(words, options).result);
    case "subscribe":
      return answered(remote.subscribe("t1", options).result);
    case "get":
      return shown(remote.get("t1", { signal }));
    case "cancel":
      return shown(remote.cancel("t1", { signal }));
    default:
      return scenario.asks satisfies never;
  }
}

function followOptions(asking: Asking): FollowOptions {
  const { idleTimeoutMs = 20_000, giveUpMs = 20_000 } = asking.scenario.settings ?? {};
  return {
    signal: signalFor(asking),
    idleTimeoutMs,
    pollMs: { first: 20, most: 100 },
    reconnect: { forMs: giveUpMs },
  };
}

async function answered(answer: Promise<Answer>): Promise<Outcome> {
  const { text, task } = await answer;
  return { kind: "answer", text, ...(task && { state: task.status.state }) };
}

async function shown(asked: Promise<Task>): Promise<Outcome> {
  const task = await asked;
  return { kind: "answer", text: textOf(task), state: task.status.state };
}
