import { expect, test } from "vitest";
import { connect } from "../agent/connect.ts";
import {
  type Call,
  type Reply,
  pagesV1,
  result,
  startFakeAgent,
  stream,
} from "../../../../test/client/fake-agent.ts";
import { aListener, aTask, anArtifact } from "./a-stream.suite.ts";

const IDEMPOTENT = {
  capabilities: {
    extensions: [
      { uri: "https://convoke.dev/extensions/idempotency/v1", params: { inMessage: true } },
    ],
  },
};
const HELLO = { artifacts: [anArtifact("Hello")] };
const taskOf = (state: string, more: object = {}): object =>
  (aTask(state, more) as { readonly task: object }).task;
const lost = (): Reply => stream("", "broken");

async function agentThat(answers: readonly ((call: Call) => Reply)[], card: object = {}) {
  const left = [...answers];
  const agent = await startFakeAgent({
    pages: pagesV1(card),
    answer: (call) => (left.length > 1 ? left.shift()! : left[0]!)(call),
  });
  const calls = () => agent.seen.flatMap(({ call }) => call ?? []);
  // One attempt each, so that only the run retries.
  return { remote: await connect(agent.url, { retry: false }), calls };
}

test("an agent that responds too early is polled until the answer is complete", async () => {
  const { remote, calls } = await agentThat([
    (call) => result(call, aTask("WORKING")),
    (call) => result(call, taskOf("WORKING")),
    (call) => result(call, taskOf("COMPLETED", HELLO)),
  ]);

  const answer = await remote.send("Ann", { pollMs: { first: 5, most: 10 } });

  expect(answer).toMatchObject({ text: "Hello", task: { status: { state: "completed" } } });
  expect(calls().map(({ method }) => method)).toEqual(["SendMessage", "GetTask", "GetTask"]);
});

test("a caller that does not want to wait gets the task as it has started", async () => {
  const { remote, calls } = await agentThat([(call) => result(call, aTask("WORKING"))]);

  const { task } = await remote.send("Ann", { wait: false });

  expect(task?.status.state).toBe("working");
  expect(calls()).toHaveLength(1);
  expect(calls()[0]?.params["configuration"]).toMatchObject({ returnImmediately: true });
});

test("the options of an approval are not choices of an answer", async () => {
  const metadata = { "https://convoke.dev/extensions/approvals/v1": { type: "approval-request" } };
  const parts = [{ text: "Approve?" }, { data: { options: ["once", "reject"] }, metadata }];
  const status = {
    state: "TASK_STATE_INPUT_REQUIRED",
    message: { messageId: "m1", role: "ROLE_AGENT", parts },
  };
  const { remote } = await agentThat([(call) => result(call, aTask("WORKING", { status }))]);

  const { question } = await remote.send("Ann");

  expect(question?.text).toBe("Approve?");
  expect(question).not.toHaveProperty("options");
});

test("a question is a result, with what the agent wants to know", async () => {
  const parts = [{ text: "Which one?" }, { data: { options: ["red", "blue"] } }];
  const message = { messageId: "m1", role: "ROLE_AGENT", parts };
  const status = { state: "TASK_STATE_INPUT_REQUIRED", message };
  const { remote } = await agentThat([(call) => result(call, aTask("WORKING", { status }))]);

  const { question } = await remote.send("Ann");

  expect(question).toMatchObject({
    kind: "input-required",
    text: "Which one?",
    options: ["red", "blue"],
    taskId: "t1",
  });
});

test("an agent with idempotency is sent the message again when the connection breaks", async () => {
  const { remote, calls } = await agentThat(
    [lost, (call) => result(call, aTask("COMPLETED", HELLO))],
    IDEMPOTENT,
  );
  const { notices, onNotice } = aListener();

  expect((await remote.send("Ann", { onNotice })).text).toBe("Hello");
  expect(notices).toMatchObject([{ kind: "reconnecting", attempt: 1 }]);
  const [first, second] = calls().map(({ params }) => params["message"]);
  expect(second).toEqual(first);
});

test("another agent is not, and the error says why", async () => {
  const { remote, calls } = await agentThat([lost]);

  await expect(remote.send("Ann")).rejects.toThrow("The message was not resent");
  expect(calls()).toHaveLength(1);
});

test("a message to a task is looked up in the task", async () => {
  const history = [{ messageId: "m7", role: "ROLE_USER", parts: [{ text: "Ann" }] }];
  const { remote } = await agentThat([
    lost,
    (call) => result(call, taskOf("WORKING", { history })),
    (call) => result(call, taskOf("COMPLETED", HELLO)),
  ]);

  const answer = await remote.send("Ann", {
    taskId: "t1",
    messageId: "m7",
    pollMs: { first: 5, most: 5 },
  });

  expect(answer.text).toBe("Hello");
});

test("a message that is not in its task is not sent again either", async () => {
  const { remote } = await agentThat([lost, (call) => result(call, taskOf("INPUT_REQUIRED"))]);

  await expect(remote.send("Ann", { taskId: "t1" })).rejects.toThrow("The message was not resent");
});

test("an agent that loses its connection while it is polled is polled again", async () => {
  const { remote } = await agentThat([
    (call) => result(call, aTask("WORKING")),
    lost,
    (call) => result(call, taskOf("COMPLETED", HELLO)),
  ]);

  expect((await remote.send("Ann", { pollMs: { first: 5, most: 5 } })).text).toBe("Hello");
});

test.each([
  ["idleTimeoutMs", { idleTimeoutMs: -1 }],
  ["reconnect.forMs", { reconnect: { forMs: Number.NaN } }],
  ["pollMs.first", { pollMs: { first: -1, most: 5 } }],
])("an invalid %s is rejected by name", async (name, options) => {
  const { remote } = await agentThat([lost]);

  expect(() => remote.stream("Ann", options)).toThrow(`${name} must be a number of milliseconds`);
});

test("an invalid reconnect.resend is rejected by name", async () => {
  const { remote } = await agentThat([lost]);
  const reconnect = { resend: "sometimes" as never };

  expect(() => remote.stream("Ann", { reconnect })).toThrow(
    'reconnect.resend must be "safe" or "always", not sometimes',
  );
});
