import type { Agent, Turn } from "@convoke/protocol";
import { serve } from "convoke";
import { expect, test } from "vitest";
import { post, rpcText } from "./rpc.ts";
import { useServer } from "./wire-server.ts";

/** An agent as somebody writes it in JavaScript. */
function rawAgent(more: object): Agent {
  const info = { name: "Raw", description: "Answers by itself.", version: "1.0.0", ...more };
  return {
    info,
    async *run({ task }: Turn) {
      yield { ...task, status: { state: "completed" } };
    },
  } as unknown as Agent;
}

const server = useServer(rawAgent({ skills: [] }));

test("an agent whose info leaves out what has a default answers, and its card is whole", async () => {
  const message = {
    kind: "message",
    messageId: "m",
    role: "user",
    parts: [{ kind: "text", text: "hello" }],
  };
  const answer = await post(server.url, rpcText("message/send", { message }));
  const card = await (await fetch(new URL("/.well-known/agent-card.json", server.url))).json();

  expect(answer.text).toContain('"state":"completed"');
  expect(card).toMatchObject({ skills: [], defaultInputModes: ["text/plain", "application/json"] });
});

test("an agent whose info has a field of another type does not start", async () => {
  const agent = rawAgent({ skills: [{ id: "a" }] });

  await expect(serve(agent, { port: 0, data: "memory" })).rejects.toThrow(
    "info.skills[0].name of an agent must be a text",
  );
});
