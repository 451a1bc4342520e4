import { type DataPart, type Task, textOf, textPart } from "@convoke/protocol";
import {
  AgentLoop,
  type ToolContext,
  authRequired,
  inputRequired,
  openRequestsOf,
  tool,
} from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, eventsOf, resultsTold, statusText } from "./scripts.ts";

/** Asks for a name once, and greets. */
function greetTool(runs: string[] = []) {
  return tool({
    name: "greet",
    description: "Greets.",
    inputSchema: { type: "object", properties: { title: { type: "string" } } },
    run: ({ title }, { answers, key }: ToolContext) => {
      runs.push(key);
      const name = answers.get("name")?.text;
      return name === undefined
        ? inputRequired(`Your name, ${String(title)}?`, { requestId: "name" })
        : `${String(title)} ${name}`;
    },
  });
}

function answer(requestId: string, value: unknown): DataPart {
  return { kind: "data", data: { requestId, value } };
}

describe("a tool that asks", () => {
  verifies(
    ["R57", "R59"],
    "sets the task to input-required, and the answer calls it again",
    async () => {
      const runs: string[] = [];
      const model = scriptedModel([calls("greet", { title: "Dr" }), "Done."]);
      const world = new LoopWorld({ model, tools: [greetTool(runs)] });

      const asked = await world.ask("go");

      expect(asked.status.state).toBe("input-required");
      expect(statusText(asked)).toBe("Your name, Dr?");
      expect(asked.status.message?.parts[1]).toMatchObject({
        kind: "data",
        data: {
          kind: "input-request",
          requestId: "call_1:name",
          prompt: "Your name, Dr?",
          sensitive: false,
        },
      });
      await world.restart();
      const done = await world.ask("Who", { taskId: asked.id });
      expect(done.status.state).toBe("completed");
      expect(resultsTold(model.requests)).toEqual(["Dr Who"]);
      expect(runs).toEqual([`${asked.id}:call_1`, `${asked.id}:call_1`]);
      const starts = await world.notes(asked.id, "internal:tool-start");
      expect(starts.map(({ round }) => round)).toEqual([1, 2]);
    },
  );

  test("among several is answered in part, and the others are asked for again", async () => {
    const model = scriptedModel([
      [calls("greet", { title: "Dr" }), calls("greet", { title: "Mr" })],
      "Done.",
    ]);
    const world = new LoopWorld({ model, tools: [greetTool()] });
    const asked = await world.ask("go");
    expect(openRequestsOf(asked).map(({ requestId }) => requestId)).toEqual([
      "call_1:name",
      "call_2:name",
    ]);

    const part = await world.ask([answer("call_2:name", "Bean")], { taskId: asked.id });

    expect(openRequestsOf(part).map(({ requestId }) => requestId)).toEqual(["call_1:name"]);
    await world.restart();
    await world.ask([answer("call_1:name", "Who")], { taskId: asked.id });
    expect(resultsTold(model.requests)).toEqual(["Dr Who", "Mr Bean"]);
  });

  verifies("R58", "also accepts the answer in the form of a tool result", async () => {
    const model = scriptedModel([calls("greet", { title: "Dr" }), "Done."]);
    const world = new LoopWorld({ model, tools: [greetTool()] });
    const asked = await world.ask("go");
    const data = { toolUseId: "call_1:name", result: { value: "Who" } };

    await world.ask([textPart("Here it is:"), { kind: "data", data }], { taskId: asked.id });

    expect(resultsTold(model.requests)).toEqual(["Dr Who"]);
  });

  test("with choices asks again until the answer is one of them", async () => {
    const choosing = tool({
      name: "choose",
      description: "Chooses.",
      run: (_, { answers }) =>
        answers.get("input")?.text ?? inputRequired("Colour?", { options: ["Red", "Blue"] }),
    });
    const model = scriptedModel([calls("choose"), "Done."]);
    const world = new LoopWorld({ model, tools: [choosing] });
    const asked = await world.ask("go");
    expect(statusText(asked)).toBe("Colour? (Red / Blue)");

    const again = await world.ask("green", { taskId: asked.id });
    expect(statusText(again)).toContain("must answer with one of Red, Blue");
    await world.ask("blue", { taskId: asked.id });

    expect(resultsTold(model.requests)).toEqual(["Blue"]);
  });

  test("is given up if a new message arrives instead of the answers", async () => {
    const model = scriptedModel([
      [calls("greet", { title: "Dr" }), calls("greet", { title: "Mr" })],
      "Fine.",
    ]);
    const world = new LoopWorld({ model, tools: [greetTool()] });
    const asked = await world.ask("go");

    const done = await world.ask("never mind", { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([
      "Not finished: the user sent a new message instead of an answer.",
      "Not finished: the user sent a new message instead of an answer.",
    ]);
    expect(model.requests[1]!.transcript.at(-1)).toEqual({
      role: "user",
      parts: [textPart("never mind")],
    });
  });

  test("that asks the same again waits again, also if there is a crash in between", async () => {
    const twice = tool({
      name: "twice",
      description: "Wants a long answer.",
      run: (_, { answers }) => {
        const text = answers.get("input")?.text;
        return text !== undefined && text.length > 3 ? text : inputRequired("More than 3 letters?");
      },
    });
    const model = scriptedModel([calls("twice"), "Done."]);
    const world = new LoopWorld({ model, tools: [twice] });
    const asked = await world.ask("go");

    const again = await world.ask("abc", { taskId: asked.id });
    expect(again.status.state).toBe("input-required");
    await world.restart();
    await world.ask("abcdef", { taskId: asked.id });

    expect(resultsTold(model.requests)).toEqual(["abcdef"]);
  });

  test("to sign in is auth-required, and continues when the caller confirms it", async () => {
    const signIn = tool({
      name: "calendar",
      description: "Reads the calendar.",
      run: (_, { answers }) =>
        answers.has("auth")
          ? "3 appointments"
          : authRequired("Sign in to the calendar.", { url: "https://example.com/login" }),
    });
    const model = scriptedModel([calls("calendar"), "Three."]);
    const world = new LoopWorld({ model, tools: [signIn] });

    const asked = await world.ask("go");

    expect(asked.status.state).toBe("auth-required");
    expect(statusText(asked)).toBe("Sign in to the calendar.\nhttps://example.com/login");
    const done = await world.ask("done", { taskId: asked.id });
    expect(textOf(done)).toBe("Three.");
    expect(resultsTold(model.requests)).toEqual(["3 appointments"]);
  });
});

describe("a sensitive answer", () => {
  const SECRET = "hunter2-hunter2";

  /** Logs in with a password, and handles it carelessly. */
  function login(passwords: string[]) {
    return tool({
      name: "login",
      description: "Logs in.",
      async *run(_, { answers }: ToolContext) {
        const password = answers.get("password")?.text;
        if (password === undefined) {
          yield inputRequired("Password?", { requestId: "password", sensitive: true });
          return;
        }
        passwords.push(password);
        yield { kind: "tool:progress", text: `trying ${password}` };
        yield `logged in with ${password}`;
      },
    });
  }

  verifies(
    "R60",
    "reaches its tool, but neither the log nor the model, however careless the tool is",
    async () => {
      const passwords: string[] = [];
      const model = scriptedModel([calls("login"), "In."]);
      const loop = new AgentLoop({ model, tools: [login(passwords)] });
      const asked = await eventsOf(loop.execute("go", { taskId: "t1" }));

      const answered = await eventsOf(loop.execute(SECRET, { taskId: "t1" }));

      expect(passwords).toEqual([SECRET]);
      expect(JSON.stringify([asked, answered])).not.toContain(SECRET);
      expect(JSON.stringify(model.requests)).not.toContain(SECRET);
      const task = (await eventsOf(loop.resume("t1")))[0] as Task;
      expect(task.status.state).toBe("completed");
      expect(JSON.stringify(task)).not.toContain(SECRET);
      expect(JSON.stringify(task.history)).toContain('"redacted":true');
      expect(resultsTold(model.requests)).toEqual(["logged in with [hidden]"]);
    },
  );

  test("of which a crash left only the placeholder is asked for again", async () => {
    const passwords: string[] = [];
    const model = scriptedModel([calls("login"), "In."]);
    const world = new LoopWorld({ model, tools: [login(passwords)] });
    const asked = await world.ask("go");
    const placeholder = {
      kind: "data",
      data: { requestId: "call_1:password", redacted: true },
    } as const;

    const again = await world.ask([placeholder], { taskId: asked.id });

    expect(again.status.state).toBe("input-required");
    expect(openRequestsOf(again).map(({ requestId }) => requestId)).toEqual(["call_1:password"]);
    expect(passwords).toEqual([]);
  });
});
