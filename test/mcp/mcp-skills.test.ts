import { defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type CardKey,
  EXTENSIONS,
  generateCardKey,
  publicKeySet,
  verifyCard,
} from "@convoke/protocol";
import { McpServers } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { serve } from "@convoke/server";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { calls, echoTool } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { ServedAgent } from "./a-served-agent.ts";
import { ours, published } from "./a-world.ts";
import { eventually } from "./eventually.ts";
import { expectNoLeftovers, markedProcesses } from "./marked-processes.ts";

expectNoLeftovers();

const COMPLETED = { result: { status: { state: "completed" } } };
const PLAIN = { ...ours("odd-server"), allow: ["plain"] };
const HELPFUL = { ...ours("helpful-server"), confirm: "never" } as const;
const skill = EXTENSIONS.skill.uri;

/** Longer than it takes to start a server behind the agent. */
const LATER_MS = 500;

describe("the tools of MCP servers", () => {
  verifies(
    ["R56", "R83"],
    "are all on the card, in both versions, after the agent's own skills",
    async () => {
      // This server adds tools a moment after its start, so it is polled until they are there.
      const model = scriptedModel(Array.from({ length: 500 }, () => "Done."));
      const mcpServers = { every: published("everything") };
      const served = await ServedAgent.start({ mcpServers }, { model });

      await eventually(async () => {
        await served.say();
        const [own, ...shown] = await served.skillIds();
        expect(own).toBe("thinker");
        expect(shown).toEqual(served.toldTools());
        expect(shown.length).toBeGreaterThan(10);
      });

      for (const version of ["1.0", "0.3", undefined]) {
        const { skills } = await served.card(version);
        expect(skills.slice(0, 3)).toEqual([
          { id: "thinker", name: "Thinker", description: "Thinks.", tags: ["thinker"] },
          {
            id: "every__echo",
            name: "Echo",
            description: "Echoes back the input string",
            tags: ["mcp", "every"],
          },
          {
            id: "every__get-annotated-message",
            name: "Get annotated message",
            description:
              "Demonstrates how annotations can be used to provide metadata about content.",
            tags: ["mcp", "every"],
          },
        ]);
      }
    },
  );

  verifies(
    ["R56", "R84"],
    "are on the card as allow and deny filter them, and as the model gets them",
    async () => {
      const served = await ServedAgent.start({
        mcpServers: {
          chosen: { ...ours("odd-server"), allow: ["plain", "nonsense"] },
          nothing: { ...ours("odd-server"), allow: [] },
          rest: { ...ours("helpful-server"), deny: ["write", "environment", "client", "deploy"] },
        },
      });
      const left = ["sleep", "meta", "fail", "big", "grow", "greet"].map((name) => `rest__${name}`);

      await eventually(async () =>
        expect(await served.skillIds()).toEqual(["thinker", "chosen__plain", ...left]),
      );

      await served.say();
      expect(served.toldTools()).toEqual(["chosen__plain", ...left]);
    },
  );

  verifies(
    ["R84", "inbound-K7"],
    "and those of the agent are on the card and offered to the model only if they are permitted",
    async () => {
      const served = await ServedAgent.start({
        tools: [echoTool()],
        mcpServers: { rest: ours("helpful-server") },
        mcpToolPermissions: ["rest__greet"],
      });

      await eventually(async () =>
        expect(await served.skillIds()).toEqual(["thinker", "rest__greet"]),
      );

      await served.say();
      expect(served.toldTools()).toEqual(["rest__greet"]);
    },
  );

  verifies(
    "R56",
    "are updated on the card, also for clients with an older one, when they change",
    async () => {
      const model = scriptedModel([calls("helpful__grow"), "Done."]);
      const served = await ServedAgent.start({ mcpServers: { helpful: HELPFUL } }, { model });
      const empty = await served.get();
      await eventually(async () => expect(await served.skillIds()).toContain("helpful__grow"));
      const before = await served.get();
      const etag = before.headers.get("etag") ?? "";
      expect(etag).not.toBe(empty.headers.get("etag"));
      expect((await served.get({ "if-none-match": etag })).status).toBe(304);

      await served.say();

      await eventually(async () => expect(await served.skillIds()).toContain("helpful__grown"));
      const modified = before.headers.get("last-modified") ?? "";
      const after = await served.get({ "if-none-match": etag });
      expect(after.status).toBe(200);
      expect((await served.get({ "if-modified-since": modified })).status).toBe(200);
      const present = after.headers.get("etag") ?? "";
      expect((await served.get({ "if-none-match": present })).status).toBe(304);
    },
  );

  verifies("R56", "leave the card with their server, and return with it", async () => {
    const served = await ServedAgent.start({ mcpServers: { odd: PLAIN } });
    await eventually(async () => expect(await served.skillIds()).toContain("odd__plain"));
    const etag = (await served.get()).headers.get("etag");

    for (const pid of markedProcesses()) process.kill(pid, "SIGKILL");

    await eventually(async () => expect(await served.skillIds()).toEqual(["thinker"]));
    await eventually(async () => expect((await served.get()).headers.get("etag")).toBe(etag));
  });

  verifies("R56", "of a server that is down are missing, and delay nothing", async () => {
    const served = await ServedAgent.start({
      mcpServers: {
        gone: { command: "/nowhere/no-such-program" },
        hanging: { ...ours("odd-server", ["hanging"]), startTimeoutMs: 1000 },
        odd: PLAIN,
      },
    });
    expect(await served.skillIds()).toEqual(["thinker"]);

    await eventually(async () =>
      expect(await served.skillIds()).toEqual(["thinker", "odd__plain"]),
    );

    expect(await served.say()).toMatchObject(COMPLETED);
    expect(served.toldTools()).toEqual(["odd__plain"]);
    for (const server of ["gone", "hanging"]) {
      expect(served.logger.lines).toContainEqual(
        expect.stringMatching(`^an MCP server is not connected .*"server":"${server}"`),
      );
    }
  });

  verifies("R56", "can be chosen by callers like any skill", async () => {
    const served = await ServedAgent.start({ mcpServers: { odd: PLAIN } });
    await eventually(async () => expect(await served.skillIds()).toContain("odd__plain"));
    const choose = (id: string): Promise<unknown> =>
      served.say({ "a2a-extensions": skill }, { [skill]: { id } });

    expect(await choose("odd__missing")).toMatchObject({
      error: { message: expect.stringContaining("thinker, odd__plain") },
    });
    expect(await choose("odd__plain")).toMatchObject(COMPLETED);
  });

  test("are signed like the rest of the card", async () => {
    const { kid, privateKey } = await generateCardKey();
    const key: CardKey = { kid, alg: "ES256", privateKey };
    const served = await ServedAgent.start(
      { mcpServers: { odd: PLAIN } },
      { card: { keys: [key] } },
    );
    await served.card("1.0");

    await eventually(async () => expect(await served.skillIds()).toContain("odd__plain"));

    const { keys } = publicKeySet([key]);
    const card = await served.card("1.0");
    expect(await verifyCard(card, { keys })).toMatchObject({ kind: "valid", kid });
    const fewer = { ...card, skills: card.skills.slice(0, 1) };
    expect((await verifyCard(fewer, { keys })).kind).toBe("invalid");
  });

  test("are on the card if the agent's author has created the servers", async () => {
    const mcpServers = new McpServers({ odd: PLAIN });
    onTestFinished(() => mcpServers.close());
    expect(mcpServers.skills()).toEqual([]);

    const served = await ServedAgent.start({ mcpServers });

    await eventually(async () => expect(await served.skillIds()).toContain("odd__plain"));
    expect(mcpServers.skills()).toHaveLength(1);
    expect(mcpServers.skills()).toBe(mcpServers.skills());
  });
});

describe("what the author defines", () => {
  test("as a skill or a tool takes precedence over a server's tool of the same name", async () => {
    const plain = { id: "odd__plain", name: "Mine", description: "Is mine.", tags: ["own"] };
    const agent = defineAgent({
      name: "Thinker",
      description: "Thinks.",
      model: "demo",
      skills: [plain],
      tools: [echoTool({ name: "helpful__fail" })],
      mcpServers: { odd: PLAIN, helpful: { ...HELPFUL, allow: ["fail", "write"] } },
    });
    onTestFinished(async () => agent[Symbol.asyncDispose]?.());
    const { info } = agent;
    expect(info.skills).toEqual([plain]);

    agent.prepare?.({});

    await eventually(() =>
      expect(agent.info.skills).toEqual([
        plain,
        {
          id: "helpful__write",
          name: "Write",
          description: "Writes.",
          tags: ["mcp", "helpful"],
        },
      ]),
    );
    expect(agent.info).toBe(agent.info);
    await agent[Symbol.asyncDispose]?.();
    expect(agent.info).toBe(info);
  });

  test("may keep them off the card: then nothing starts before a turn needs it", async () => {
    const served = await ServedAgent.start({ mcpServers: { odd: PLAIN }, mcpSkills: false });
    await sleep(LATER_MS);
    expect(markedProcesses()).toEqual([]);

    expect(await served.say()).toMatchObject(COMPLETED);

    expect(served.toldTools()).toEqual(["odd__plain"]);
    expect(await served.skillIds()).toEqual(["thinker"]);
  });

  test("must be valid", () => {
    const define = (more: object) => () =>
      defineAgent({ name: "Thinker", description: "Thinks.", model: "demo", ...more });

    expect(define({ mcpServers: {}, mcpSkills: "no" })).toThrow(
      'mcpSkills must be true or false, not "no"',
    );
    expect(define({ mcpSkills: false })).toThrow("mcpSkills is for mcpServers, and there are none");
  });
});

test("a card with more than 256 tools omits the rest, and the log says so once", async () => {
  const served = await ServedAgent.start({
    mcpServers: { many: ours("odd-server", ["many"]), odd: PLAIN },
    mcpOptions: { maxTools: 1000 },
  });

  await eventually(async () => expect(await served.skillIds()).toHaveLength(257));

  await served.say();
  expect(served.toldTools()).toHaveLength(301);
  expect(await served.skillIds()).toHaveLength(257);
  const told = served.logger.lines.filter((line) => line.startsWith("the card leaves out tools"));
  expect(told).toHaveLength(1);
});

test("an agent whose start fails leaves no process", async () => {
  const agent = defineAgent({
    name: "Thinker",
    description: "Thinks.",
    model: "demo",
    mcpServers: { odd: ours("odd-server") },
  });
  const starting = serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => {
      agent.prepare?.({});
      const backend = createMemoryBackend();
      vi.spyOn(backend.tasks, "unfinished").mockImplementation(async () => {
        await eventually(() => expect(markedProcesses()).toHaveLength(1));
        throw new Error("the index is broken");
      });
      return backend;
    },
  });

  await expect(starting).rejects.toThrow("the index is broken");

  expect(markedProcesses()).toEqual([]);
});
