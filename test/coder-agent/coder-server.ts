import { coder } from "@convoke/coder";
import { createJsonLogger } from "@convoke/engine";
import type { Model } from "@convoke/runtime";
import { openAgentData } from "@convoke/runtime/agent-data";
import { scriptedModel } from "@convoke/runtime/testing";
import { serve } from "@convoke/server";
import { reportReady } from "../harness/report-ready.ts";

// A coding agent whose model makes the call that the message has, and then says that it is done.

const model: Model = {
  id: "one-call",
  stream: (request, signal) => {
    const last = request.transcript.at(-1);
    const text = last?.role === "user" ? last.parts.at(-1) : undefined;
    const turn =
      text?.kind === "text"
        ? ({ kind: "tool-call", ...(JSON.parse(text.text) as OneCall) } as const)
        : "Done.";
    return scriptedModel([turn]).stream(request, signal);
  },
};

interface OneCall {
  readonly toolName: string;
  readonly input: object;
}

const data = process.env["CONVOKE_DATA"]!;
const logger = createJsonLogger("error", (line) => process.stderr.write(line));
const agent = coder({ workspace: process.env["CODER_ROOT"]!, model });
const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger,
  openBackend: () => openAgentData(agent, { data, logger }),
});
reportReady(server.url);
