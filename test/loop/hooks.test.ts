import { type AgentEvent, type ArtifactUpdateEvent, textOf, textPart } from "@convoke/protocol";
import type { LoopHooks } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool, resultsTold, statusText } from "./scripts.ts";

function aWorld(hooks: LoopHooks, script: Parameters<typeof scriptedModel>[0]) {
  const model = scriptedModel(script);
  return { model, world: new LoopWorld({ model, hooks, tools: [echoTool()] }) };
}

describe("hooks", () => {
  verifies("R52", "change the request to the model and its answer", async () => {
    const { model, world } = aWorld(
      {
        beforeModel: (request) => ({ ...request, instructions: "Be brief." }),
        afterModel: (content) =>
          content.map((piece) =>
            piece.kind === "text" ? { ...piece, text: "[filtered]" } : piece,
          ),
      },
      ["rude words"],
    );

    const task = await world.ask("go");

    expect(model.requests[0]!.instructions).toBe("Be brief.");
    expect(textOf(task)).toBe("[filtered]");
  });

  verifies("R52", "change arguments and results of tools", async () => {
    const { model, world } = aWorld(
      {
        beforeTool: ({ input }) => ({ input: { text: `${String(input["text"])}!` } }),
        afterTool: ({ output }) => ({ output: `<${String(output)}>`, isError: false }),
      },
      [calls("echo", { text: "a" }), "ok"],
    );

    await world.ask("go");

    expect(resultsTold(model.requests)).toEqual(["<echo a!>"]);
  });

  test("veto a tool call, and the model is informed; veto the model call, and the task is rejected", async () => {
    const vetoed = aWorld({ beforeTool: () => ({ veto: "Not today." }) }, [calls("echo"), "ok"]);
    await vetoed.world.ask("go");
    expect(resultsTold(vetoed.model.requests)).toEqual(["Not today."]);

    const { world, model } = aWorld({ beforeModel: () => ({ veto: "Office hours only." }) }, ["x"]);
    const task = await world.ask("go");
    expect(task.status.state).toBe("rejected");
    expect(statusText(task)).toBe("Office hours only.");
    expect(model.requests).toEqual([]);
  });

  test("filter tools: a tool that is filtered out is neither offered nor run", async () => {
    const { model, world } = aWorld({ toolFilter: () => false }, [calls("echo"), "ok"]);

    await world.ask("go");

    expect(model.requests[0]!.tools).toEqual([]);
    expect(resultsTold(model.requests)).toEqual([
      'There is no tool called "echo"; there are none.',
    ]);
  });

  verifies(
    "R52",
    "transform events, but cannot drop those that the task is resumed from",
    async () => {
      const seen: string[] = [];
      const { world } = aWorld(
        {
          transformEvent: (event) => {
            seen.push(event.kind);
            if (event.kind !== "artifact-update") return undefined;
            const update = event as ArtifactUpdateEvent;
            const parts = update.artifact.parts.map((part) =>
              part.kind === "text" ? textPart(part.text.toUpperCase()) : part,
            );
            return { ...update, artifact: { ...update.artifact, parts } };
          },
        },
        [calls("echo"), "quiet"],
      );

      const task = await world.ask("go");

      expect(textOf(task)).toBe("QUIET");
      expect(task.status.state).toBe("completed");
      expect(seen).toContain("internal:tool-start");
      const kinds = (await world.events(task.id)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === "internal:tool-start")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "internal:llm-result")).toHaveLength(2);
    },
  );

  test("can show the model's reasoning, which is hidden otherwise", async () => {
    const script = [
      [{ kind: "reasoning", text: "hm hm" } as const, { kind: "text", text: "ok" } as const],
    ];
    const plain = aWorld({}, script);
    const shown = aWorld(
      {
        modelEvent: (event, { task }) => {
          if (event.kind !== "reasoning") return undefined;
          const artifact = { artifactId: "thoughts", parts: [textPart(event.text)] };
          const place = { taskId: task.id, contextId: task.contextId };
          return { kind: "artifact-update", ...place, artifact, append: true } as AgentEvent;
        },
      },
      script,
    );

    const task = await plain.world.ask("go");
    const thinking = await shown.world.ask("go");

    expect(JSON.stringify(task)).not.toContain("hm");
    expect(thinking.artifacts?.map(({ artifactId }) => artifactId)).toEqual([
      "thoughts",
      "answer-1",
    ]);
    const [result] = await plain.world.notes(task.id, "internal:llm-result");
    expect(result).toMatchObject({
      content: [{ kind: "reasoning", text: "hm hm" }, { kind: "text" }],
    });
  });

  test.each<keyof LoopHooks>([
    "beforeModel",
    "afterModel",
    "beforeTool",
    "afterTool",
    "toolFilter",
    "transformEvent",
    "modelEvent",
  ])("%s that throws fails the task, and the log of the server has the cause", async (name) => {
    const fails = (): never => {
      throw new Error("a bug of mine");
    };
    const { world } = aWorld({ [name]: fails }, [calls("echo"), "ok"]);

    const task = await world.ask("go");

    expect(task.status.state).toBe("failed");
    expect(JSON.stringify(task)).not.toContain("a bug of mine");
    expect(world.logger.lines.join()).toContain("the agent failed");
  });
});
