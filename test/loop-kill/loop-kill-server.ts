import { defineAgent } from "@convoke/runtime";
import { thinker } from "../crash/thinker.ts";
import { cause } from "../harness/effect.ts";
import { serveAgent } from "../harness/serve-agent.ts";

const receiverUrl = process.env["CONVOKE_RECEIVER"] ?? "";

const agent = thinker(
  process.env["CONVOKE_MODEL"] ?? "",
  async ({ taskId, toolCallId }, _, key) => {
    const effect = { by: taskId, name: toolCallId, ...(key !== undefined && { key }) };
    await cause(receiverUrl, effect);
  },
);

await serveAgent(defineAgent(agent));
