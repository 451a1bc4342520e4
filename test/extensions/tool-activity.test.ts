import { type A2APart, EXTENSIONS, type StatusUpdateEvent } from "@convoke/protocol";
import { defineAgent, tool } from "convoke";
import { describe, expect, test } from "vitest";
import { readAll, taskIdIn } from "../conformance/reading.ts";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Told } from "../conformance/speaker.ts";
import { jsonRpcSpeaker, speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { asking } from "./a-listening-speaker.ts";

const { uri } = EXTENSIONS.toolActivity;

const TOOLS = [
  tool({
    name: "echo",
    description: "Says what it is told.",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    run: ({ text }) => ({ said: text }),
  }),
  tool({
    name: "broken",
    description: "Never works.",
    run: () => {
      throw new Error("out of order");
    },
  }),
];

const FACTS = { name: "Handy", description: "Has tools.", model: "demo", tools: TOOLS } as const;

const server = useServer(defineAgent(FACTS));
const discreet = useServer(defineAgent({ ...FACTS, toolActivity: false }));

/** The parts of the extension in a stream, event by event. */
function activityIn(told: readonly Told[]): readonly (readonly A2APart[])[] {
  return told.flatMap(({ event }) => {
    if (event.kind !== "status-update") return [];
    const parts = event.status.message?.parts ?? [];
    return parts.some(({ metadata }) => metadata?.[uri] !== undefined) ? [parts] : [];
  });
}

function part(type: string, data: object): A2APart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}

const USE = part("tool-use", { toolUseId: "demo-1", name: "echo", input: { text: "hi" } });
const RESULT = part("tool-result", { toolUseId: "demo-1", name: "echo", result: { said: "hi" } });

describe.each(speakersTo(server))("tool activity over $binding $version", (speaker) => {
  verifies(
    ["R53", "seed-C21"],
    "is in the stream of a caller that activates it, and in no other response",
    async () => {
      const active = asking(speaker, uri).speaker;

      const told = await readAll(active.stream(aRequest("echo(text=hi)")));

      expect(activityIn(told)).toEqual([[USE], [RESULT]]);
      const updates = told.filter((one) => activityIn([one]).length > 0);
      for (const { event } of updates) {
        expect(event).toMatchObject({ status: { state: "working" }, final: false });
      }
      const plain = await readAll(speaker.stream(aRequest("echo(text=hi)")));
      expect(activityIn(plain)).toEqual([]);
      expect(plain).toHaveLength(told.length - 2);
      const task = await active.get({ taskId: taskIdIn(told) });
      expect(JSON.stringify(task)).not.toContain(uri);
    },
  );

  test("reports a failed tool with its error", async () => {
    const active = asking(speaker, uri).speaker;

    const told = await readAll(active.stream(aRequest("broken()")));

    const error = "Tool broken failed: out of order";
    expect(activityIn(told)[1]).toEqual([
      part("tool-result", { toolUseId: "demo-1", name: "broken", error }),
    ]);
  });

  test("continues exactly after the cursor of a caller that reconnects", async () => {
    const active = asking(speaker, uri).speaker;
    const told = await readAll(active.stream(aRequest("echo(text=hi)")));
    const place = told.findIndex((one) => activityIn([one]).length > 0);

    const taskId = taskIdIn(told);
    const rest = await readAll(active.subscribe({ taskId }, { lastEventId: told[place]!.id }));

    expect(rest).toEqual(told.slice(place + 1));
  });
});

verifies(
  ["R53", "seed-C21"],
  "tool calls are parts of the kinds tool-use and tool-result in 0.3 JSON-RPC",
  async () => {
    const codec = jsonRpcSpeaker(server, "0.3").codec;
    const params = codec.encodeSendMessage(aRequest(aMessage("echo(text=hi)")));
    const response = await fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-a2a-extensions": uri },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params }),
    });
    const parts = (await response.text())
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => (JSON.parse(line.slice(6)) as { result: StatusUpdateEvent }).result)
      .flatMap(({ status }) => (status?.state === "working" ? (status.message?.parts ?? []) : []));

    const mark = (type: string): object => ({ metadata: { [uri]: { type } } });
    expect(parts).toEqual([
      {
        kind: "tool-use",
        toolUseId: "demo-1",
        name: "echo",
        input: { text: "hi" },
        ...mark("tool-use"),
      },
      {
        kind: "tool-result",
        toolUseId: "demo-1",
        name: "echo",
        result: { said: "hi" },
        ...mark("tool-result"),
      },
    ]);
  },
);

test("an agent with toolActivity: false does not declare it, and sends none", async () => {
  const asked = asking(jsonRpcSpeaker(discreet, "1.0"), uri);

  const told = await readAll(asked.speaker.stream(aRequest("echo(text=hi)")));

  expect(asked.active()).toEqual([]);
  expect(activityIn(told)).toEqual([]);
});
