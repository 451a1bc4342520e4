import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { ArtifactUpdateEvent } from "@convoke/protocol";
import { AgentLoop, defineAgent } from "@convoke/runtime";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { report } from "./control.ts";
import { listen, readJson } from "./listen.ts";

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

/** Reads the answer from the package, and nothing else. */
async function readProvider(text: string): Promise<string> {
  const [baseURL = "", name = ""] = model.split("#");
  const provider = createOpenAICompatible({ name: "bench", baseURL, includeUsage: true });
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  const { stream } = await provider.chatModel(name).doStream({ prompt });
  let answer = "";
  for await (const part of stream) if (part.type === "text-delta") answer += part.delta;
  return answer;
}

const loop = new AgentLoop({ model, modelOptions });

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
      void read(text).then((answer) => response.end(JSON.stringify({ text: answer })));
    }),
  );
}
