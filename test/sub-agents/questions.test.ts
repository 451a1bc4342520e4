import {
  type Agent,
  EXTENSIONS,
  type StatusUpdateEvent,
  type TaskState,
  agentMessage,
} from "@convoke/protocol";
import {
  type ToolContext,
  authRequired,
  defineAgent,
  digestArguments,
  inputRequired,
  tool,
} from "@convoke/runtime";
import { serve } from "convoke";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { aLoginTool } from "../approvals/a-login-tool.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls, statusText } from "../loop/scripts.ts";
import { aChain } from "./a-chain.ts";
import { Hop, callsOnce, toldIn } from "./a-hop.ts";
import { answer, ended, until } from "./questions.ts";

/** An agent that calls another one, which is served unchanged. */
async function aCallerOf(agent: Agent): Promise<Hop> {
  const server = await serve(agent, { port: 0, data: "memory", logger: memoryLogger() });
  onTestFinished(() => server.close());
  return Hop.started("boss", () => ({
    model: callsOnce(calls("other", { message: "go" })),
    subAgents: { other: server.url },
  }));
}

/** An agent whose only event is a status. */
function aSpeaker(status: StatusUpdateEvent["status"], seen: string[] = []): Agent {
  return defineAgent({
    name: "speaker",
    description: "Says one thing.",
    async *run({ signal, park }) {
      signal.addEventListener("abort", () => seen.push("canceled"));
      const event = { kind: "status-update", taskId: "", contextId: "", final: true } as const;
      yield { ...event, status };
      await park();
    },
  });
}

/** A status as any agent would write it. */
function says(state: TaskState, text: string): StatusUpdateEvent {
  const status = { state, message: agentMessage(`says-${text}`, text) };
  return { kind: "status-update", taskId: "", contextId: "", status, final: false };
}

/** The contents of all files in a folder. */
function filesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

describe("a question of a leaf", () => {
  const choose = tool({
    name: "choose",
    description: "Asks for a colour.",
    run: (_, { answers }: ToolContext) =>
      answers.get("colour")?.text ??
      inputRequired("Which colour?", { requestId: "colour", options: ["red", "blue"] }),
  });

  test("is asked at the root with its choices, and the answer is passed down", async () => {
    const { boss, worker } = await aChain(choose);
    const remote = await boss.client();

    const { task } = await remote.send("go");

    expect(statusText(task!)).toBe("planner asks: worker asks: Which colour? (red / blue)");
    const wrong = await answer(remote, task!, "green");
    expect(wrong.status.state).toBe("input-required");
    const done = await answer(remote, wrong, "BLUE");
    expect(done.status.state).toBe("completed");
    expect(toldIn(await worker.task())).toMatchObject([{ output: "blue" }]);
  });

  test("that is sensitive leaves its answer in no file of any agent", async () => {
    const { login, passwords } = aLoginTool();
    const { boss, planner, worker } = await aChain(login, {}, { onDisk: true });
    const remote = await boss.client();
    const { task } = await remote.send("go");
    expect(statusText(task!)).toContain("Password?");

    const done = await answer(remote, task!, "canary-7f3a");

    expect(done.status.state).toBe("completed");
    expect(passwords).toEqual(["canary-7f3a"]);
    for (const hop of [boss, planner, worker]) {
      await hop.stop();
      const files = filesIn(hop.folder!);
      expect(files).toContain("Password?");
      expect(files).not.toContain("canary-7f3a");
      expect(hop.logger.lines.join("\n")).not.toContain("canary-7f3a");
    }
  });

  test("that requires a sign-in is one, too, with its URL", async () => {
    const enter = tool({
      name: "enter",
      description: "Needs a login.",
      run: (_, { answers }: ToolContext) =>
        answers.has("auth") ? "in" : authRequired("Sign in.", { url: "https://sign.example/in" }),
    });
    const { boss, worker } = await aChain(enter);
    const remote = await boss.client();

    const { task } = await remote.send("go");
    const asked = await until(boss, "auth-required", task!.id);

    expect(statusText(asked)).toBe("planner asks: worker asks: Sign in.\nhttps://sign.example/in");
    const done = await answer(remote, asked, "done");
    expect(done.status.state).toBe("completed");
    expect(toldIn(await worker.task())).toMatchObject([{ output: "in" }]);
  });
});

describe("an agent without extensions", () => {
  test("asks in text, and is answered in text", async () => {
    const boss = await aCallerOf(
      defineAgent({
        name: "asker",
        description: "Asks.",
        async *run({ ask }) {
          yield `You said ${await ask("How many?")} and ${await ask("Of what?")}.`;
        },
      }),
    );
    const remote = await boss.client();

    const { task } = await remote.send("go");
    expect(statusText(task!)).toBe("other asks: How many?");
    const next = await answer(remote, task!, "three");
    expect(statusText(next)).toBe("other asks: Of what?");
    const done = await answer(remote, next, "pears");

    expect(toldIn(done)).toMatchObject([
      { isError: false, output: { artifacts: [{ text: "You said three and pears." }] } },
    ]);
  });

  test("that waits for a sign-in and continues by itself lets its caller continue", async () => {
    const signedIn = Promise.withResolvers<undefined>();
    const boss = await aCallerOf(
      defineAgent({
        name: "visitor",
        description: "Waits for a login.",
        async *run() {
          yield says("auth-required", "Sign in somewhere.");
          await signedIn.promise;
          yield says("working", "Signed in.");
          yield "Done.";
        },
      }),
    );
    const remote = await boss.client();
    const { task } = await remote.send("go");
    await until(boss, "auth-required", task!.id);

    signedIn.resolve(undefined);

    expect((await ended(boss, task!.id)).status.state).toBe("completed");
  });
});

describe("an agent that asks for something that must not be shown", () => {
  const approval = {
    id: "a",
    tool: { callId: "c", name: "pay", arguments: { amount: 1 } },
    digest: digestArguments({ amount: 1_000_000 }),
    title: "Pay 1",
    risk: "info",
    options: ["once", "reject"],
    createdAt: "2026-01-31T12:00:00.000Z",
  };

  function asking(data: unknown, uri: string, type: string): StatusUpdateEvent["status"] {
    const part = { kind: "data", data, metadata: { [uri]: { type } } } as const;
    const message = { kind: "message", messageId: "q", role: "agent", parts: [part] } as const;
    return { state: "input-required", message };
  }

  const { approvals, clientTools } = EXTENSIONS;
  const cases = [
    {
      what: "an approval with the digest of other arguments",
      status: asking(approval, approvals.uri, "approval-request"),
      why: "other failed: it asked for an approval whose digest is not that of its arguments",
    },
    {
      what: "an invalid approval",
      status: asking({ id: "a", tool: {} }, approvals.uri, "approval-request"),
      why: /^other failed: it asked for an approval that cannot be read: /,
    },
    {
      what: "a tool that was not offered",
      status: asking({ toolUseId: "t", name: "rm", input: {} }, clientTools.uri, "tool-use"),
      why: "other failed: it wants its caller to run a tool that was not offered to it",
    },
  ];

  test.each(cases)("$what fails, and is canceled", async ({ status, why }) => {
    const seen: string[] = [];
    const boss = await aCallerOf(aSpeaker(status, seen));

    const { task } = await (await boss.client()).send("go");

    expect(task?.status.state).toBe("completed");
    const [{ isError, output } = { isError: false, output: "" }] = toldIn(task!);
    expect(isError).toBe(true);
    expect(output).toMatch(why);
    await expect.poll(() => seen).toEqual(["canceled"]);
  });
});
