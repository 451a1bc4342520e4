import { type BindingName, type ClientTool, type RemoteAgent, connect } from "@convoke/client";
import { type ModelAgentDefinition, inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { servedAgent } from "../approvals/a-served-agent.ts";
import { calls, echoTool, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { CLIENT_TOOLS, READ_FILE } from "./a-caller.ts";

const READING = calls("read_file", { path: "notes.txt" });

/** A tool of the caller, and the arguments it was called with. */
function reader(
  run: ClientTool["run"] = ({ path }) => `the text of ${String(path)}`,
): ClientTool & { readonly ran: readonly string[] } {
  const ran: string[] = [];
  return {
    ...READ_FILE,
    ran,
    run: (input, context) => {
      ran.push(context.toolUseId);
      return run(input, context);
    },
  };
}

type Script = Parameters<typeof scriptedModel>[0];

async function aWorld(
  script: Script,
  definition: Partial<ModelAgentDefinition> = {},
  options: Parameters<typeof connect>[1] = {},
) {
  const model = scriptedModel(script);
  const agent = await servedAgent({ model, ...definition });
  const remote = await connect(agent.url, options);
  onTestFinished(() => remote.close());
  return { model, agent, remote };
}

describe.each<[BindingName, "0.3" | "1.0"]>([
  ["jsonrpc", "0.3"],
  ["jsonrpc", "1.0"],
  ["rest", "0.3"],
  ["rest", "1.0"],
  ["grpc", "0.3"],
  ["grpc", "1.0"],
])("via %s in %s", (binding, version) => {
  verifies(["R53", "R58", "R59"], "a tool of the caller runs automatically", async () => {
    const script: Script = [[READING, READING], "Done."];
    const { model, remote } = await aWorld(script, {}, { bindings: [binding], version });
    const result = { lines: ["buy milk"], done: null, count: 1.5 };
    const tools = [reader(() => result)];

    const run = remote.conversation({ tools }).say("go");

    expect((await run.result).text).toBe("Done.");
    expect(tools[0]?.ran).toEqual(["call_1", "call_2"]);
    expect(resultsTold(model.requests)).toEqual([result, result]);
  });
});

describe("a conversation with tools", () => {
  test("passes them their arguments, and runs all calls of one question in parallel", async () => {
    const { remote } = await aWorld([[READING, READING], "Done."]);
    const both = Promise.withResolvers<void>();
    const contexts: unknown[] = [];
    const tools = [
      reader((input, { signal, ...context }) => {
        contexts.push({ input, ...context });
        if (contexts.length === 2) both.resolve();
        expect(signal.aborted).toBe(false);
        return both.promise;
      }),
    ];

    const { task } = await remote.conversation({ tools }).say("go").result;

    const input = { path: "notes.txt" };
    expect(contexts).toEqual([
      { input, toolUseId: "call_1", taskId: task?.id },
      { input, toolUseId: "call_2", taskId: task?.id },
    ]);
  });

  test("reports errors to the agent", async () => {
    const calling = [READING, READING, READING];
    const { model, remote } = await aWorld([calling, "Done."]);
    const results: (() => unknown)[] = [
      () => Promise.reject(new Error("no such file")),
      () => 5n,
      () => () => "a function",
    ];
    const tools = [reader(() => results.shift()?.())];

    await remote.conversation({ tools }).say("go").result;

    expect(resultsTold(model.requests)).toEqual([
      "Tool read_file failed: no such file",
      expect.stringMatching(/^Tool read_file failed: its result is not JSON: .*BigInt/),
      "Tool read_file failed: its result is not JSON",
    ]);
    const last = model.requests.at(-1)?.transcript.at(-1);
    expect(last).toMatchObject({
      results: [{ isError: true }, { isError: true }, { isError: true }],
    });
  });

  test("answers a call of an unknown tool with an error", async () => {
    const { model, remote } = await aWorld([READING, "Done."]);
    const asked = remote.conversation({ tools: [reader(() => sleep(3_600_000))] });
    const run = asked.say("go");
    void run.result.catch(() => undefined);
    await expect.poll(() => asked.state.taskId).toBeDefined();
    await run[Symbol.asyncDispose]();

    const other = { name: "write_file", run: () => "never" };
    const later = remote.conversation({ tools: [other], state: asked.state });
    await later.resume().result;

    expect(resultsTold(model.requests)).toEqual([
      "There is no tool called read_file; there are write_file.",
    ]);
  });

  test("leaves questions for people to people", async () => {
    const script: Script = [[READING, calls("echo", { text: "x" }), calls("asking")], "Done."];
    const asking = tool({
      name: "asking",
      description: "Asks.",
      run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("Who?"),
    });
    const definition = { tools: [echoTool({ confirm: "ask" }), asking] };
    const { model, remote } = await aWorld(script, definition);
    const heard: string[] = [];

    const tools = [reader()];
    const onQuestion = ({ text }: { readonly text: string }) => {
      heard.push(text);
      return heard.length === 1 ? "never mind" : undefined;
    };
    await remote.conversation({ tools, onQuestion }).say("go").result;

    expect(heard[0]).toMatch(/^1\. Approve: Run echo\?[^]*\n2\. Who\?/);
    expect(resultsTold(model.requests)[0]).toBe("the text of notes.txt");
    expect(tools[0]?.ran).toEqual(["call_1"]);
  });

  test("also runs them when iterated step by step", async () => {
    const { remote } = await aWorld([READING, "Done."]);
    const steps: string[] = [];

    for await (const step of remote.conversation({ tools: [reader()] }).exchange("go")) {
      steps.push(step.kind === "event" ? step.event.kind : "question");
    }

    expect(steps).not.toContain("question");
    expect(steps.at(-1)).toBe("status-update");
  });

  test("that is aborted aborts the tools, and sends nothing", async () => {
    const { model, remote } = await aWorld([READING, "Done."]);
    const abort = new AbortController();
    const reason = new Error("enough");
    const seen = Promise.withResolvers<unknown>();
    const tools = [
      reader((_, { signal }) => {
        signal.addEventListener("abort", () => seen.resolve(signal.reason));
        abort.abort(reason);
        return new Promise(() => undefined);
      }),
    ];

    const conversation = remote.conversation({ tools, signal: abort.signal });
    await expect(conversation.say("go").result).rejects.toThrow("enough");

    expect(await seen.promise).toBe(reason);
    const task = await remote.get(conversation.state.taskId ?? "");
    expect(task.status.state).toBe("input-required");
    expect(model.requests).toHaveLength(1);
  });

  test("runs each call once, even if the response to its result was lost", async () => {
    const { model, remote, lost } = await aLossyWorld();
    const tools = [reader()];

    const { text } = await remote.conversation({ tools }).say("go").result;

    expect(text).toBe("Done.");
    expect(lost()).toBe(1);
    expect(tools[0]?.ran).toEqual(["call_1"]);
    expect(resultsTold(model.requests)).toEqual(["the text of notes.txt"]);
  });

  test("that lost its connection continues, and runs nothing again", async () => {
    const { model, remote, lost } = await aLossyWorld();
    const tools = [reader()];
    const conversation = remote.conversation({ tools, reconnect: false });
    await expect(conversation.say("go").result).rejects.toThrow();
    expect(lost()).toBe(1);

    const { text } = await conversation.resume().result;

    expect(text).toBe("Done.");
    expect(tools[0]?.ran).toEqual(["call_1"]);
    expect(resultsTold(model.requests)).toEqual(["the text of notes.txt"]);
  });

  test("continues in another process from its state", async () => {
    const { model, agent, remote } = await aWorld([READING, "Done."]);
    const first = remote.conversation({ tools: [reader(() => sleep(3_600_000))] });
    const run = first.say("go");
    void run.result.catch(() => undefined);
    await expect.poll(() => first.state.taskId).toBeDefined();
    await run[Symbol.asyncDispose]();
    const kept = JSON.stringify(first.state);

    const tools = [reader()];
    const other = await connect(agent.url);
    const later = other.conversation({ tools, state: JSON.parse(kept) });

    expect((await later.resume().result).text).toBe("Done.");
    expect(tools[0]?.ran).toEqual(["call_1"]);
    expect(resultsTold(model.requests)).toEqual(["the text of notes.txt"]);
    // Continuing an ended task returns its result.
    expect((await later.resume().result).text).toBe("Done.");
  });

  test("that ended with a pending question gets it answered when it continues", async () => {
    const asking = tool({
      name: "asking",
      description: "Asks.",
      run: (_, { answers }) => answers.get("input")?.text ?? inputRequired("Who?"),
    });
    const { model, remote } = await aWorld([calls("asking"), "Done."], { tools: [asking] });
    const first = remote.conversation();
    await first.say("go").result;

    const later = remote.conversation({ state: first.state, onQuestion: () => "Ann" });
    await later.resume().result;

    expect(resultsTold(model.requests)).toEqual(["Ann"]);
  });

  test("follows a task that did not wait for the result", async () => {
    const clientTools = { timeoutMs: 40 };
    const { model, remote } = await aWorld([READING, "Never mind."], { clientTools });
    const tools = [reader(() => sleep(150, "too late"))];

    const { text, task } = await remote.conversation({ tools }).say("go").result;

    expect(text).toBe("Never mind.");
    expect(task?.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual(["Not finished: nobody answered in time."]);
  });

  test("ends with a task that was canceled in the meantime", async () => {
    const { remote } = await aWorld([READING, "Never."]);
    const tools = [
      reader(async (_, { taskId }) => {
        await remote.cancel(taskId);
        return "for nothing";
      }),
    ];

    const { task } = await remote.conversation({ tools }).say("go").result;

    expect(task?.status.state).toBe("canceled");
  });

  test("offers them with each message, and activates the extension each time", async () => {
    const { model, remote } = await aWorld(["One.", "Two.", "Three."]);
    const conversation = remote.conversation({ tools: [reader()] });

    await conversation.say("one").result;
    await conversation.say("two").result;
    await remote.send("three");

    expect(model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 0]);
  });
});

describe("invalid tools", () => {
  test("are rejected before anything is sent, with their position", async () => {
    const { remote } = await aWorld([]);
    const refused = (tools: readonly unknown[]) => () =>
      remote.conversation({ tools: tools as readonly ClientTool[] });
    const run = (): void => undefined;

    expect(refused([{ name: "a" }])).toThrow("tools[0] needs a run function");
    expect(refused([{ name: "a b", run }])).toThrow(/^tools\[0\]\.name /);
    expect(
      refused([
        { name: "a", run },
        { name: "a", run },
      ]),
    ).toThrow("tools[1].name repeats a");
    expect(refused([{ name: "a", run, inputSchema: { type: "string" } }])).toThrow(
      'tools[0].inputSchema.type must be "object"',
    );
  });

  test("for an agent that uses none are rejected with the fix", async () => {
    const { remote } = await aWorld([], { clientTools: false });

    expect(() => remote.conversation({ tools: [reader()] })).toThrow(
      `its card does not declare ${CLIENT_TOOLS}. Leave tools out to call it without them`,
    );
    expect(() => remote.conversation({ tools: [] })).not.toThrow();
  });

  test("cannot continue a conversation without messages", async () => {
    const { remote } = await aWorld([]);

    expect(() => remote.conversation().resume()).toThrow(
      "there is no task to continue: send a message first, or pass the state of a conversation",
    );
  });
});

/** The agent receives the first answer to its question, but the caller gets no response. */
async function aLossyWorld(): Promise<{
  readonly model: ReturnType<typeof scriptedModel>;
  readonly remote: RemoteAgent;
  readonly lost: () => number;
}> {
  let lost = 0;
  const lossy: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const body = typeof init?.body === "string" ? init.body : "";
    if (!body.includes('"tool-result"') || lost > 0) return response;
    lost += 1;
    await response.body?.cancel();
    throw new TypeError("the connection was lost");
  };
  const { model, remote } = await aWorld([READING, "Done."], {}, { fetch: lossy });
  return { model, remote, lost: () => lost };
}
