import { describe, expect, test } from "vitest";
import { faultOf, post, rpcText } from "./rpc.ts";
import { useServer } from "./wire-server.ts";

const server = useServer();
const strict = useServer(undefined, { strict: true });

const message = {
  kind: "message",
  messageId: "m",
  role: "agent",
  parts: [{ kind: "text", text: "hello" }],
};

describe("a message with the role of the agent", () => {
  test("is stored as its caller's in 0.3, blocking and streamed, with one line in the log", async () => {
    for (const method of ["message/send", "message/stream"]) {
      const params = { message: { ...message, messageId: method } };

      const answer = await post(server.url, rpcText(method, params));

      expect(answer.status).toBe(200);
      expect(answer.text).toContain('"role":"user"');
      expect(answer.text).toContain('"state":"completed"');
    }
    const lines = server.log.filter((line) => line.includes("messages with role"));
    expect(lines).toHaveLength(1);
  });

  test("is rejected in strict mode and in 1.0", async () => {
    const v1 = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hello" }] };
    for (const answer of [
      await post(strict.url, rpcText("message/send", { message })),
      await post(server.url, rpcText("SendMessage", { message: v1 })),
    ]) {
      expect(faultOf(answer)).toMatchObject({ code: -32602 });
      expect(answer.text).toContain("callers do not speak for the agent");
    }
  });
});
