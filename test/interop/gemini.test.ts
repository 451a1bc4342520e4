import type { Agent } from "@convoke/protocol";
import type { CardOptions } from "@convoke/server";
import { connect, serve } from "convoke";
import { coder } from "convoke/coder";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { runGemini } from "./gemini/gemini-cli.ts";
import { installGemini } from "./gemini/install-gemini.ts";
import { ScriptedModel, calls, reports } from "./gemini/scripted-model.ts";
import { Wiretap } from "./gemini/wiretap.ts";

/**
 * A download of 21 MB, once; npm itself is stopped after two minutes, and then prints the reason.
 */
const INSTALL_MS = 150_000;

/** A run takes about two seconds, and longer on a busy machine. */
const RUN_MS = 60_000;

const TOKEN = "interop-token-0123456789";

beforeAll(async () => void (await installGemini()), INSTALL_MS);

describe("the Gemini CLI", () => {
  verifies(
    "R80",
    "needs only a 0.3 card",
    async () => {
      const { agent } = await serveDemo(undefined, { form: "v03" });
      const model = await ScriptedModel.start(calls("demo", "hello"), reports);

      await runGemini({ model, agent });

      expect(model.results).toEqual([{ output: expect.stringContaining("You said: hello.") }]);
    },
    RUN_MS,
  );

  verifies(
    ["R79", "R80", "R32", "R34"],
    "streams from the agent via A2A 0.3, and its model gets the complete answer",
    async () => {
      const { tap, agent } = await serveDemo();
      const model = await ScriptedModel.start(calls("demo", "ha ha ha"), reports);

      const said = await runGemini({ model, agent });

      const [card, send, ...more] = tap.exchanges;
      // Identical consecutive chunks are not lost.
      const answer = "You said: ha ha ha. Try: slow 50,";
      expect(model.instruction).toContain(demoAgent.info.description);
      expect(model.results).toEqual([{ output: expect.stringContaining(answer) }]);
      expect(model.surprises).toEqual([]);
      expect(said).toContain(`It answered: {"output":"Artifact:\\n${answer}`);

      const { tasks } = await (await connect(tap.url)).list({ includeArtifacts: true });
      expect(tasks).toMatchObject([
        {
          status: { state: "completed" },
          history: [{ role: "user", parts: [{ kind: "text", text: "ha ha ha" }] }],
          artifacts: [{ parts: [{ kind: "text", text: expect.stringContaining(answer) }] }],
        },
      ]);

      expect(more).toEqual([]);
      expect(card).toMatchObject({ target: "GET /.well-known/agent-card.json", status: 200 });
      expect(send).toMatchObject({
        target: "POST /",
        headers: { accept: "text/event-stream" },
        status: 200,
      });
      // It sends no version, which means 0.3.
      expect(card?.headers).not.toHaveProperty("a2a-version");
      expect(send?.headers).not.toHaveProperty("a2a-version");
      expect(JSON.parse(send?.body ?? "")).toEqual({
        jsonrpc: "2.0",
        id: 1,
        method: "message/stream",
        params: {
          message: {
            kind: "message",
            role: "user",
            messageId: tasks[0]?.history?.[0]?.messageId,
            parts: [{ kind: "text", text: "ha ha ha" }],
          },
          configuration: { blocking: true },
        },
      });
      const events = eventsIn(send?.answer ?? "");
      expect(events[0]).toMatchObject({ kind: "task", id: tasks[0]?.id });
      expect(events.at(-1)).toMatchObject({
        kind: "status-update",
        status: { state: "completed" },
        final: true,
      });
    },
    RUN_MS,
  );

  verifies(
    "R59",
    "answers a question of the agent on the task that asked",
    async () => {
      const { tap, agent } = await serveDemo();
      const model = await ScriptedModel.start(calls("demo", "ask"), calls("demo", "Ann"), reports);

      const said = await runGemini({ model, agent });

      expect(model.results).toEqual([
        // It also shows the data of the question to its model.
        { output: expect.stringMatching(/^What is your name\?Data: .*"requestId":/) },
        { output: "Artifact:\nHello, Ann!" },
      ]);
      expect(said).toContain("Hello, Ann!");
      const { tasks } = await (await connect(tap.url)).list();
      expect(tasks).toMatchObject([{ status: { state: "completed" } }]);
      expect(tasks[0]?.history?.map(({ parts }) => parts)).toMatchObject([
        [{ text: "ask" }],
        [{ text: "What is your name?" }, { data: { kind: "input-request" } }],
        [{ text: "Ann" }],
      ]);
    },
    RUN_MS,
  );

  verifies(
    ["R10", "R28"],
    "passes files, records, messages and failures to its model, in one conversation",
    async () => {
      const { tap, agent } = await serveDemo();
      const prompts = ["artifact", "message", "fail", "reject", "slow 3", "hello"];
      const model = await ScriptedModel.start(
        ...prompts.map((prompt) => calls("demo", prompt)),
        reports,
      );

      await runGemini({ model, agent });

      expect(model.results).toEqual([
        {
          output:
            "Artifact (notes.txt):\nFile: notes.txt\n\n" +
            'Artifact (facts.json):\nData: {"agent":"demo","answer":42}\n\n' +
            "Artifact:\nOne file and one record.",
        },
        { output: "This is one message, and there is no task behind it." },
        { output: "It failed, as you asked." },
        { output: "I will not do that, as you asked." },
        { output: "3 chunks are coming.\n\nArtifact:\n1 2 3" },
        // A reply without a task is not part of the conversation.
        { output: expect.stringContaining("You said: hello. I remember 4 earlier message(s)") },
      ]);
      const { tasks } = await (await connect(tap.url)).list();
      expect(tasks.map(({ status }) => status.state)).toEqual([
        "completed",
        "completed",
        "rejected",
        "failed",
        "completed",
      ]);
      expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(1);
    },
    RUN_MS,
  );

  verifies(
    ["seed-C14", "v03-S13"],
    "says that the agent waits for an authorization, and does not wait itself",
    async () => {
      const { tap, agent } = await serveDemo();
      const model = await ScriptedModel.start(calls("demo", "auth"), reports);

      const remote = await connect(tap.url);

      expect(await runGemini({ model, agent })).toContain("[Authorization Required]");
      expect((await remote.list({ state: "auth-required" })).totalSize).toBe(1);
      expect(model.results).toEqual([
        { output: expect.stringContaining("Sign in wherever you like, then send me any message.") },
      ]);
    },
    RUN_MS,
  );

  verifies(
    ["R114", "R115"],
    "sends the token that its user has for the agent",
    async () => {
      const { tap, agent } = await serveDemo(TOKEN);
      const model = await ScriptedModel.start(calls("demo", "hello"), reports);
      const auth = { type: "http", scheme: "Bearer", token: "$DEMO_TOKEN" } as const;

      const said = await runGemini({
        model,
        agent: { ...agent, auth },
        env: { DEMO_TOKEN: TOKEN },
      });

      expect(said).toContain("You said: hello.");
      // The card is public; sending a message is not.
      expect(tap.exchanges.map(({ target, headers }) => [target, headers.authorization])).toEqual([
        ["GET /.well-known/agent-card.json", undefined],
        ["POST /", `Bearer ${TOKEN}`],
      ]);
    },
    RUN_MS,
  );

  verifies(
    "R114",
    "tells its model why it is rejected without a token",
    async () => {
      const { tap, agent } = await serveDemo(TOKEN);
      const model = await ScriptedModel.start(calls("demo", "hello"), reports);

      const said = await runGemini({ model, agent });

      expect(said).toContain("a bearer token is required");
      expect(tap.exchanges.map(({ status }) => status)).toEqual([200, 401]);
      const remote = await connect(tap.url, { token: TOKEN });
      expect((await remote.list()).totalSize).toBe(0);
    },
    RUN_MS,
  );
});

test(
  "the Gemini CLI drives the coding agent: it approves a change, and goes on in the conversation",
  async () => {
    const workspace = temporaryFolder();
    const { tap, agent } = await serveDemo(undefined, {}, coder({ workspace }));
    const prompts = ["write a.txt: hello", "approve", "read a.txt", "/undo", "list"];
    const model = await ScriptedModel.start(
      ...prompts.map((prompt) => calls("demo", prompt)),
      reports,
    );

    await runGemini({ model, agent });

    const [asked, wrote, read, undone, listed] = model.results.map((one) => JSON.stringify(one));
    expect(asked).toContain("Create a.txt");
    expect(asked).toContain("+hello");
    expect(wrote).toContain("`write_file` returned");
    expect(read).toContain("hello");
    expect(undone).toContain("Deleted a.txt.");
    expect(listed).not.toContain("a.txt");
    const { tasks } = await (await connect(tap.url)).list();
    expect(tasks.map(({ status }) => status.state)).toEqual(Array(4).fill("completed"));
    expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(1);
  },
  RUN_MS,
);

interface ServedDemo {
  readonly tap: Wiretap;
  /** The agent's definition for the Gemini CLI. */
  readonly agent: { readonly name: "demo"; readonly agent_card_url: string };
}

/** The demo agent, or another one, on a real port, with its tasks in SQLite, behind a wiretap. */
async function serveDemo(
  token?: string,
  card: CardOptions = {},
  served: Agent = demoAgent,
): Promise<ServedDemo> {
  const tap = await Wiretap.start();
  const server = await serve(served, {
    port: 0,
    data: temporaryFolder(),
    publicUrl: tap.url,
    card,
    ...(token !== undefined && { token }),
  });
  onTestFinished(() => server.close());
  tap.port = server.port;
  const agent_card_url = new URL("/.well-known/agent-card.json", tap.url).href;
  return { tap, agent: { name: "demo", agent_card_url } };
}

/** The results in the frames of a JSON-RPC stream. */
function eventsIn(stream: string): readonly object[] {
  const frames = [...stream.matchAll(/^data: (.*)$/gm)];
  return frames.map(([, data = ""]) => (JSON.parse(data) as { readonly result: object }).result);
}
