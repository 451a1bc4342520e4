import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { ArtifactUpdateEvent } from "@convoke/protocol";
import { AgentLoop, defineAgent, tool } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { report } from "./control.ts";
import { listen, readJson } from "./listen.ts";
import { parseToolTurns, toolTurnsText } from "./order.ts";

/**
 * The path of a model token up to a stage: the provider's package, the loop, or the full server.
 */
export type Stage = "provider" | "loop" | "server";

const stage = process.env["BENCH_STAGE"] as Stage;
const model = process.env["BENCH_MODEL"] ?? "";
const modelOptions = { apiKey: "scripted-key" };

interface Request {
  readonly params: { readonly message: { readonly parts: readonly [{ readonly text: string }] } };
}

const look = tool({
  name: "look",
  description: "Looks at a place.",
  inputSchema: { type: "object", properties: { at: { type: "integer" } } },
  run: ({ at }: { readonly at?: unknown }) => `nothing at ${String(at)}`,
});

type Prompt = Parameters<
  ReturnType<ReturnType<typeof createOpenAICompatible>["chatModel"]>["doStream"]
>[0]["prompt"];

/** Reads the answer from the package and answers its tool calls, and nothing else. */
async function readProvider(text: string): Promise<string> {
  const [baseURL = "", name = ""] = model.split("#");
  const provider = createOpenAICompatible({ name: "bench", baseURL, includeUsage: true });
  const { name: toolName, description, inputSchema } = look;
  const tools = [{ type: "function" as const, name: toolName, description, inputSchema }];
  const prompt: Prompt = [{ role: "user", content: [{ type: "text", text }] }];
  for (;;) {
    const { stream } = await provider.chatModel(name).doStream({ prompt, tools });
    let answer = "";
    let called = false;
    for await (const part of stream) {
      if (part.type === "text-delta") answer += part.delta;
      if (part.type !== "tool-call") continue;
      called = true;
      const { toolCallId } = part;
      const input: unknown = JSON.parse(part.input);
      prompt.push(
        { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input }] },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId,
              toolName,
              output: { type: "text", value: "nothing here" },
            },
          ],
        },
      );
    }
    if (!called) return answer;
  }
}

const loop = new AgentLoop({ model, modelOptions, tools: [look] });

/** Reads it as the events of a loop without a server. */
function readLoop(text: string): Promise<string> {
  let answer = "";
  return new Promise((resolve, reject) => {
    loop.execute(text).subscribe({
      next: (event) => {
        if (event.kind !== "artifact-update") return;
        const [part] = (event as ArtifactUpdateEvent).artifact.parts;
        if (part?.kind === "text") answer += part.text;
      },
      error: reject,
      complete: () => resolve(answer),
    });
  });
}

if (stage === "server") {
  const agent = defineAgent({ name: "Bench", description: "Thinks.", model, modelOptions });
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
    openBackend: () => openSqliteBackend({ folder: process.env["BENCH_DATA"] ?? "" }),
  });
  report(server.url);
} else {
  const read = stage === "provider" ? readProvider : readLoop;
  listen((request, response) =>
    readJson(request, (body) => {
      const { text } = (body as Request).params.message.parts[0];
      const turns = parseToolTurns(text);
      void read(turns === undefined ? text : toolTurnsText(turns)).then((answer) =>
        response.end(JSON.stringify({ text: answer })),
      );
    }),
  );
}
