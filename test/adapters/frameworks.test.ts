import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RemoteAgent, connect, mount } from "convoke";
import {
  type ScriptTurn,
  type ScriptedModelServer,
  startScriptedModelServer,
} from "convoke/testing";
import {
  type A2APart,
  type Agent,
  EXTENSIONS,
  type PublicEvent,
  textOfParts,
} from "@convoke/protocol";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { installProject } from "../harness/install-project.ts";
import { run } from "../harness/program.ts";

// The examples of the guide, with the real packages and a scripted model on loopback. They are large,
// so `npm run test:adapters` installs and runs them, and `npm test` does not.

const ROOT = join(import.meta.dirname, "../..");
const PROJECT = join(import.meta.dirname, "frameworks");

/** 290 MB, once. */
const INSTALL_MS = 600_000;

const NAMES = ["ai-sdk", "openai-agents", "langgraph", "mastra"] as const;

/** How the example of each framework is told to refund. LangGraph asks a question of its own. */
const YES = {
  "ai-sdk": "approve",
  "openai-agents": "approve",
  langgraph: "yes",
  mastra: "approve",
};

let folder: string;
let server: ScriptedModelServer;
const turns: ScriptTurn[] = [];
const agents = new Map<string, Agent>();

beforeAll(async () => {
  await installProject(PROJECT);
  folder = await mkdtemp(join(PROJECT, "examples-"));
  server = await startScriptedModelServer(() => turns.shift() ?? "The script is over.");
  Object.assign(process.env, server.environment, { OPENAI_AGENTS_DISABLE_TRACING: "1" });
  for (const code of await examples()) {
    const framework = /"convoke\/adapters\/([a-z-]+)"/.exec(code)![1]!;
    // The second example of a framework.
    const name = agents.has(framework) ? `${framework}-more` : framework;
    const file = join(folder, `${name}.ts`);
    await writeFile(file, code);
    agents.set(name, ((await import(file)) as { readonly default: Agent }).default);
  }
}, INSTALL_MS);
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function examples(): Promise<readonly string[]> {
  const guide = await readFile(join(ROOT, "docs/guide/adapters.md"), "utf8");
  return Array.from(guide.matchAll(/```ts\n(.*?)```/gs), ([, code = ""]) => code);
}

/** A client of the agent in this process, with the extension `tool-activity`. */
async function clientOf(name: string): Promise<RemoteAgent> {
  const url = "http://127.0.0.1/";
  const agent = agents.get(name)!;
  const mounted = await mount(agent, { data: "memory", publicUrl: url, logger: memoryLogger() });
  onTestFinished(() => mounted.close());
  return connect(url, {
    cache: false,
    extensions: [EXTENSIONS.toolActivity.uri],
    fetch: (input, init) => mounted.fetch(new Request(input, init)),
  });
}

async function eventsOf(run: AsyncIterable<PublicEvent>): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

function activityType({ metadata }: A2APart): unknown {
  const mark = metadata?.[EXTENSIONS.toolActivity.uri] as { readonly type: string } | undefined;
  return mark?.type;
}

const refund: ScriptTurn = { kind: "tool-call", toolName: "refund", input: { order: "1001" } };

test("the examples compile with the types of the frameworks", async () => {
  const compilerOptions = {
    composite: false,
    noEmit: true,
    declarationMap: false,
    allowImportingTsExtensions: true,
    customConditions: ["@convoke/source"],
    lib: ["es2024", "dom", "dom.asynciterable", "dom.iterable"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    skipLibCheck: true,
    // Few projects set it, and the types of LangChain do not allow it.
    exactOptionalPropertyTypes: false,
    rootDir: "/",
  };
  const config = { extends: join(ROOT, "tsconfig.base.json"), compilerOptions };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));

  const compiler = join(ROOT, "node_modules/.bin/tsc");
  const { stdout } = await run(compiler, ["-p", folder], { cwd: folder });
  // Our own sources, which are part of it, are checked elsewhere, with other options.
  expect(stdout.split("\n").filter((line) => /^[a-z-]+\.ts\(/.test(line))).toEqual([]);
}, 300_000);

describe.each(NAMES)("an agent of %s", (name) => {
  test("streams its answer, and remembers the conversation", async () => {
    const conversation = (await clientOf(name)).conversation();
    turns.push("It is sunny in Rome.", "As I said.");

    const events = await eventsOf(conversation.say("How is Rome?"));
    const { text } = await conversation.say("Really?").result;

    const chunks = events.flatMap((event) =>
      event.kind === "artifact-update" ? [textOfParts(event.artifact.parts)] : [],
    );
    expect(chunks.join("")).toBe("It is sunny in Rome.");
    expect(chunks.length).toBeGreaterThan(2);
    expect(text).toBe("As I said.");
    const asked = JSON.stringify(server.requests.at(-1)!.body);
    for (const said of ["How is Rome?", "It is sunny in Rome.", "Really?"]) {
      expect(asked).toContain(said);
    }
  });

  test("waits for approval of a tool call, and shows the call and its result", async () => {
    const conversation = (await clientOf(name)).conversation();
    turns.push(refund, "That is done.");

    const before = await eventsOf(conversation.say("Refund order 1001."));
    const after = await eventsOf(conversation.say(YES[name]));

    const last = before.at(-1);
    expect(last).toMatchObject({ kind: "status-update", status: { state: "input-required" } });
    expect(JSON.stringify(last)).toContain("1001");
    expect(JSON.stringify(server.requests.at(-1)!.body)).toContain("Order 1001 is refunded.");
    expect(after.at(-1)).toMatchObject({ status: { state: "completed" } });
    const types = [...before, ...after].flatMap((event) =>
      event.kind === "status-update" ? (event.status.message?.parts ?? []).map(activityType) : [],
    );
    expect(types).toEqual(expect.arrayContaining(["tool-use", "tool-result"]));
  });

  test("tells the model that a call was rejected, and why", async () => {
    const conversation = (await clientOf(name)).conversation();
    turns.push(refund, "I leave it.");

    await conversation.say("Refund order 1001.").result;
    const { text } = await conversation.say("reject too late").result;

    expect(text).toBe("I leave it.");
    const asked = JSON.stringify(server.requests.at(-1)!.body);
    expect(asked).toContain("too late");
    expect(asked).not.toContain("is refunded");
  });

  test("stops its model when the task is canceled", async () => {
    const remote = await clientOf(name);
    const { length } = server.requests;
    turns.push([{ kind: "text", text: "I think" }, { kind: "silence" }]);
    let taskId = "";
    for await (const event of remote.stream("Think.")) {
      if (event.kind !== "artifact-update") continue;
      ({ taskId } = event);
      break;
    }

    await remote.cancel(taskId);

    await expect.poll(() => server.requests[length]!.closedEarly, { timeout: 20_000 }).toBe(true);
  });
});

test("an agent of LangChain with a human in the loop waits for approval", async () => {
  const conversation = (await clientOf("langgraph-more")).conversation();
  turns.push(refund, "That is done.");

  const { text: question } = await conversation.say("Refund order 1001.").result;
  const { text } = await conversation.say("approve").result;

  expect(question).toContain("Run refund");
  expect(text).toBe("That is done.");
  expect(JSON.stringify(server.requests.at(-1)!.body)).toContain("Order 1001 is refunded.");
});

test("a tool of Mastra that suspends asks the caller, and resumes with the answer", async () => {
  const conversation = (await clientOf("mastra-more")).conversation();
  turns.push(refund, "That is done.");

  const { text: question } = await conversation.say("Refund order 1001.").result;
  const { text } = await conversation.say("It was broken.").result;

  expect(question).toBe("Why should I refund order 1001?");
  expect(text).toBe("That is done.");
  const asked = JSON.stringify(server.requests.at(-1)!.body);
  expect(asked).toContain("Order 1001 is refunded: It was broken.");
});
