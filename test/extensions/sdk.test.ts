import { randomUUID } from "node:crypto";
import { SendMessageRequest } from "a2a-sdk-v1";
import { ServiceParameters, withA2AExtensions } from "a2a-sdk-v1/client";
import { EXTENSIONS } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { discoverV1 } from "../interop/sdk-v1.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { FORMAL, UNKNOWN, extensionAgent } from "./extension-agent.ts";

const server = useServer(extensionAgent());
const { skill } = EXTENSIONS;

function aRequest(): SendMessageRequest {
  return SendMessageRequest.fromJSON({
    message: {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: [{ text: "hello" }],
      metadata: { [skill.uri]: { id: "translate" } },
    },
  });
}

const options = {
  serviceParameters: ServiceParameters.create(withA2AExtensions(FORMAL, UNKNOWN, skill.uri)),
};

describe.each(["JSONRPC", "HTTP+JSON", "GRPC"] as const)(
  "@a2a-js/sdk 1.3.0 via %s",
  (transport) => {
    verifies("v1-S31", "activates extensions, and the agent is informed", async () => {
      const client = await discoverV1(server.url, fetch, transport);

      const answer = await client.sendMessage(aRequest(), options);

      const [artifact] = "artifacts" in answer ? answer.artifacts : [];
      expect(artifact?.parts[0]?.content?.value).toMatchObject({
        active: [FORMAL, skill.uri],
        skill: "translate",
      });
    });
  },
);

describe.each(["JSONRPC", "HTTP+JSON"] as const)("a response to the SDK via %s", (transport) => {
  verifies("v1-S31", "lists what is active, also in streams", async () => {
    const echoes: (string | null)[] = [];
    const client = await discoverV1(
      server.url,
      async (input, init) => {
        const answer = await fetch(input, init);
        if (init?.method === "POST") echoes.push(answer.headers.get("a2a-extensions"));
        return answer;
      },
      transport,
    );

    await client.sendMessage(aRequest(), options);
    for await (const _ of client.sendMessageStream(aRequest(), options)) continue;
    await client.sendMessage(aRequest());

    expect(echoes).toEqual([`${FORMAL}, ${skill.uri}`, `${FORMAL}, ${skill.uri}`, null]);
  });

  verifies("v1-S31", "and the card that the SDK fetched declares them", async () => {
    const client = await discoverV1(server.url, fetch, transport);

    const { capabilities } = await client.getAgentCard();

    expect(capabilities?.extensions.map(({ uri }) => uri)).toContain(FORMAL);
    expect(capabilities?.extensions.map(({ uri }) => uri)).toContain(skill.uri);
  });
});
