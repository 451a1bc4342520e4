import { randomUUID } from "node:crypto";
import { type Artifact, SendMessageRequest } from "a2a-sdk-v1";
import { ClientFactory } from "a2a-sdk-v1/client";
import { type MeasuredClient, reportClient } from "./client-job.ts";
import { type Order, orderText } from "./order.ts";

/** The client of `@a2a-js/sdk` 1.3.0, created as its README shows. */
reportClient(async (url): Promise<MeasuredClient> => {
  const client = await new ClientFactory().createFromUrl(url);
  return {
    async send(order) {
      const answer = await client.sendMessage(requestOf(order));
      return "artifacts" in answer ? textOf(answer.artifacts[0]) : "";
    },
    async stream(order) {
      let text = "";
      for await (const { payload } of client.sendMessageStream(requestOf(order))) {
        if (payload?.$case === "artifactUpdate") text += textOf(payload.value.artifact);
      }
      return text;
    },
  };
});

function textOf(artifact: Artifact | undefined): string {
  const content = artifact?.parts[0]?.content;
  return content?.$case === "text" ? content.value : "";
}

function requestOf(order: Order): SendMessageRequest {
  const parts = [{ text: orderText(order) }];
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts },
    configuration: { returnImmediately: false },
  });
}
