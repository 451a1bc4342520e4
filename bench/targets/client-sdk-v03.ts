import { randomUUID } from "node:crypto";
import type { Artifact, MessageSendParams } from "a2a-sdk-v03";
import { ClientFactory } from "a2a-sdk-v03/client";
import { type MeasuredClient, reportClient } from "./client-job.ts";
import { type Order, orderText } from "./order.ts";

/** The client of `@a2a-js/sdk` 0.3.14, created as its README shows. */
reportClient(async (url): Promise<MeasuredClient> => {
  const client = await new ClientFactory().createFromUrl(url);
  return {
    async send(order) {
      const answer = await client.sendMessage(paramsOf(order));
      return answer.kind === "task" ? textOf(answer.artifacts?.[0]) : "";
    },
    async stream(order) {
      let text = "";
      for await (const event of client.sendMessageStream(paramsOf(order))) {
        if (event.kind === "artifact-update") text += textOf(event.artifact);
      }
      return text;
    },
  };
});

function textOf(artifact: Artifact | undefined): string {
  const part = artifact?.parts[0];
  return part?.kind === "text" ? part.text : "";
}

function paramsOf(order: Order): MessageSendParams {
  const parts = [{ kind: "text", text: orderText(order) } as const];
  return {
    message: { kind: "message", messageId: randomUUID(), role: "user", parts },
    configuration: { blocking: true },
  };
}
