import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";

const server = useServer(conformanceAgent());

type Fields = Readonly<Record<string, unknown>>;

describe.each(speakersTo(server))("a request over $binding $version", (speaker) => {
  // REST and gRPC of 0.3 call the parts of a message its content.
  const parts = speaker.codec.dialect === "0.3-proto" ? "content" : "parts";

  for (const [field, spoil] of [
    ["message", () => ({})],
    ["message.messageId", without("messageId")],
    ["message.role", without("role")],
    [`message.${parts}`, without(parts)],
    [`message.${parts}`, having(parts, [])],
    [`message.${parts}[0]`, having(parts, [{}])],
    [`message.${parts}[1]`, having(parts, [aPart(speaker), {}])],
  ] as const) {
    verifies(
      ["v1-S46", "v1-S48", "v03-S14"],
      `without ${field} is refused, and the field is named`,
      async () => {
        const params = speaker.codec.encodeSendMessage(aRequest("hello")) as Fields;

        const refusal = await refusalOf(speaker.call("sendMessage", spoil(params)));

        expect(refusal.reason).toBe("InvalidParams");
        expect(refusal.message).toContain(field);
        // gRPC has no place for it in 0.3.
        const isTold = speaker.binding !== "grpc" || speaker.version === "1.0";
        if (isTold) expect(refusal.field?.startsWith(field)).toBe(true);
      },
    );
  }

  // Protobuf has no way to write it.
  if (speaker.binding !== "grpc") {
    verifies("v1-S34", "with a context that is no text is refused, not replaced", async () => {
      const params = speaker.codec.encodeSendMessage(aRequest("hello")) as Fields;

      const refusal = await refusalOf(speaker.call("sendMessage", having("contextId", 7)(params)));

      expect(refusal).toMatchObject({ reason: "InvalidParams", field: "message.contextId" });
    });
  }

  // On REST the path names the task, so it cannot be missing.
  if (speaker.binding !== "rest") {
    verifies(["v1-S46", "v1-S48", "v03-S14"], "without the id of a task is refused", async () => {
      const operations = ["getTask", "cancelTask", "getPushConfig", "deletePushConfig"] as const;
      for (const operation of operations) {
        const refusal = await refusalOf(speaker.call(operation, {}));

        expect(refusal.reason).toBe("InvalidParams");
        expect(refusal.message).toMatch(/\b(id|taskId|name)\b/);
      }
    });
  }

  verifies(["v1-S48", "v03-S14"], "for less history than none is refused", async () => {
    const { id: taskId } = await speaker.sendTask(aRequest("hello"));

    const refusals = [
      await refusalOf(speaker.get({ taskId, historyLength: -1 })),
      await refusalOf(speaker.send(aRequest("hello", { historyLength: -1 }))),
    ];

    for (const { reason, message } of refusals) {
      expect(reason).toBe("InvalidParams");
      expect(message).toContain("historyLength");
    }
  });
});

function without(name: string): (params: Fields) => Fields {
  return (params) => {
    const { [name]: _, ...message } = params["message"] as Fields;
    return { ...params, message };
  };
}

function having(name: string, value: unknown): (params: Fields) => Fields {
  return (params) => ({ ...params, message: { ...(params["message"] as Fields), [name]: value } });
}

/** A part that is right, as the speaker writes it. */
function aPart({ codec }: Speaker): object {
  const { message } = codec.encodeSendMessage(aRequest("hello")) as { readonly message: Fields };
  const [part] = (message["parts"] ?? message["content"]) as readonly object[];
  return part!;
}
