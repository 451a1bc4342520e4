import { type ExchangeStep, type RemoteAgent, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { worker } from "./worker-agent.ts";

describe.each(["1.0", "0.3"] as const)("a conversation in %s", (version) => {
  let server: Awaited<ReturnType<typeof serve>>;
  let remote: RemoteAgent;

  beforeAll(async () => {
    const logger = createJsonLogger("error", (line) => process.stderr.write(line));
    server = await serve(worker, { port: 0, data: "memory", logger });
    remote = await connect(server.url, { version });
  });

  afterAll(() => server.close());

  test("stays in one context, and each message refers to the previous task", async () => {
    const conversation = remote.conversation();
    const first = await conversation.say("count 1").result;
    const second = await conversation.say("count 2").result;
    const third = await conversation.say("remember").result;

    expect(third.text).toBe("count 1, count 2");
    expect(new Set([first, second, third].map(({ task }) => task?.contextId)).size).toBe(1);
    expect(second.task?.id).not.toBe(first.task?.id);
    expect(second.task?.history?.[0]).toMatchObject({ referenceTaskIds: [first.task?.id] });
    expect(conversation.state).toEqual({
      contextId: third.task?.contextId,
      lastTaskId: third.task?.id,
    });
  });

  test("is one run over all its questions if a callback answers them", async () => {
    const answers = ["Ann", "York"];
    const conversation = remote.conversation({ onQuestion: async () => answers.shift() });
    const run = conversation.say("ask");
    const states: string[] = [];
    let text = "";

    await Promise.all([
      (async () => {
        for await (const event of run) {
          if ("status" in event) states.push(`${event.kind} ${event.status.state}`);
        }
      })(),
      (async () => {
        for await (const delta of run.text) text += delta;
      })(),
    ]);

    expect(states).toContain("status-update input-required");
    expect(states.filter((state) => state.startsWith("task "))).toHaveLength(3);
    expect(states.at(-1)).toBe("status-update completed");
    expect(text).toBe("Well. Ann of York");
    expect((await run.result).text).toBe(text);
    expect((await run.result).question).toBeUndefined();
  });

  test("ends with the question if there is no callback, and the next message answers it", async () => {
    const conversation = remote.conversation();
    const asked = await conversation.say("ask").result;
    expect(asked.question).toMatchObject({ kind: "input-required", text: "Who are you?" });
    expect(conversation.state.taskId).toBe(asked.task?.id);

    const again = await conversation.say("Ann").result;
    expect(again.question?.text).toBe("Where, Ann?");
    const answer = await conversation.say("York").result;

    expect(answer.text).toBe("Well. Ann of York");
    expect(answer.task?.id).toBe(asked.task?.id);
    expect(conversation.state.taskId).toBeUndefined();
  });

  test("can be stored as JSON and continued elsewhere", async () => {
    const conversation = remote.conversation();
    await conversation.say("ask").result;
    const kept = JSON.stringify(conversation.state);

    const other = await connect(server.url, { version });
    const later = other.conversation({ state: JSON.parse(kept), onQuestion: () => "York" });

    expect((await later.say("Ann").result).text).toBe("Well. Ann of York");
  });

  test("can be iterated step by step, with questions to answer", async () => {
    const conversation = remote.conversation();
    const answers = ["Ann", "York"];
    const steps: string[] = [];
    const note = (step: ExchangeStep): void =>
      void steps.push(step.kind === "question" ? step.question.text : step.event.kind);

    for await (const step of conversation.exchange("ask")) {
      note(step);
      if (step.kind === "question") step.question.answer(answers.shift() ?? "");
    }

    expect(steps.filter((step) => step.endsWith("?"))).toEqual(["Who are you?", "Where, Ann?"]);
    expect(steps.at(-1)).toBe("status-update");
  });

  test("ends at a question that is not answered in the loop", async () => {
    const conversation = remote.conversation();
    const steps: ExchangeStep[] = [];

    for await (const step of conversation.exchange("ask")) steps.push(step);

    expect(steps.at(-1)).toMatchObject({ kind: "question", question: { text: "Who are you?" } });
    expect(conversation.state.taskId).toBeDefined();
  });

  test("confirms an authorization if a callback does so", async () => {
    const asked: string[] = [];
    const conversation = remote.conversation({
      onAuthRequired: ({ kind, text }) => {
        asked.push(`${kind}: ${text}`);
        return "done";
      },
    });

    expect((await conversation.say("auth").result).text).toBe("You are in.");
    expect(asked).toEqual(["auth-required: Log in first."]);
  });

  test("first handles what needs no answer", async () => {
    const conversation = remote.conversation({
      answerFirst: ({ text }) => (text.startsWith("Who") ? "Bot" : undefined),
      onQuestion: () => "York",
    });

    expect((await conversation.say("ask").result).text).toBe("Well. Bot of York");
  });

  test("an error of the callback is the error of the run, and the question stays pending", async () => {
    const conversation = remote.conversation({
      onQuestion: () => {
        throw new Error("no idea");
      },
    });

    await expect(conversation.say("ask").result).rejects.toThrow("no idea");
    expect(conversation.state.taskId).toBeDefined();
  });

  test("can be aborted while the callback is running", async () => {
    const controller = new AbortController();
    const conversation = remote.conversation({
      signal: controller.signal,
      onQuestion: () => {
        controller.abort(new Error("enough"));
        return new Promise<undefined>(() => undefined);
      },
    });

    await expect(conversation.say("ask").result).rejects.toThrow("enough");
  });

  test("canceling the run cancels its current task", async () => {
    const conversation = remote.conversation();
    const run = conversation.say("wait");
    const { result } = run;
    await expect.poll(() => run.taskId).toBeDefined();

    const task = await run.cancel();

    expect(task?.status.state).toBe("canceled");
    expect((await result).task?.status.state).toBe("canceled");
  });
});

test("an invalid conversation state is rejected with the invalid field", async () => {
  const logger = createJsonLogger("error", (line) => process.stderr.write(line));
  const server = await serve(worker, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());
  const remote = await connect(server.url);

  const state = { taskId: 5 } as never;

  expect(() => remote.conversation({ state })).toThrow(
    new TypeError("state.taskId must be the id of a task; pass the value of conversation.state"),
  );
});
