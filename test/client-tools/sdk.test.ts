import type { DataPart, Task } from "a2a-sdk-v03";
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from "a2a-sdk-v03/client";
import { SendMessageRequest, type Task as TaskV1 } from "a2a-sdk-v1";
import { ServiceParameters, withA2AExtensions } from "a2a-sdk-v1/client";
import { scriptedModel } from "@convoke/runtime/testing";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { servedAgent } from "../approvals/a-served-agent.ts";
import { discoverV1 } from "../interop/sdk-v1.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { CLIENT_TOOLS, READ_FILE, declaring } from "./a-caller.ts";

const SCRIPT = [calls("read_file", { path: "notes.txt" }), "Done."];
const RESULT = { lines: ["buy milk"] };
const MARK = { [CLIENT_TOOLS]: { type: "tool-result" } };

verifies(
  ["R58", "R59"],
  "@a2a-js/sdk 0.3.14 runs a tool and answers with a data part",
  async () => {
    const model = scriptedModel(SCRIPT);
    const { url } = await servedAgent({ model });
    const fetchImpl: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set("X-A2A-Extensions", CLIENT_TOOLS);
      return fetch(input, { ...init, headers });
    };
    const transports = [new JsonRpcTransportFactory({ fetchImpl })];
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports });
    const client = await new ClientFactory(options).createFromUrl(url);
    const message = { kind: "message", role: "user", messageId: randomUUID() } as const;

    const asked = (await client.sendMessage({
      message: { ...message, parts: [{ kind: "text", text: "go" }], ...declaring(READ_FILE) },
    })) as Task;
    const use = asked.status.message?.parts.find((part): part is DataPart => part.kind === "data");
    expect(use?.data).toMatchObject({ name: "read_file", input: { path: "notes.txt" } });
    const data = { toolUseId: use?.data["toolUseId"], result: RESULT };
    const done = (await client.sendMessage({
      message: {
        ...message,
        messageId: randomUUID(),
        taskId: asked.id,
        parts: [{ kind: "data", data, metadata: MARK }],
      },
    })) as Task;

    expect(done.status.state).toBe("completed");
    expect(resultsTold(model.requests)).toEqual([RESULT]);
  },
);

for (const transport of ["JSONRPC", "HTTP+JSON", "GRPC"] as const) {
  verifies(
    ["R58", "R59"],
    `@a2a-js/sdk 1.3.0 runs a tool and answers with a data part, via ${transport}`,
    async () => {
      const model = scriptedModel(SCRIPT);
      const { url } = await servedAgent({ model });
      const client = await discoverV1(url, fetch, transport);
      const serviceParameters = ServiceParameters.create(withA2AExtensions(CLIENT_TOOLS));
      const say = async (parts: readonly object[], more: object): Promise<TaskV1> => {
        const message = { messageId: randomUUID(), role: "ROLE_USER", parts, ...more };
        const request = SendMessageRequest.fromJSON({ message });
        return (await client.sendMessage(request, { serviceParameters })) as TaskV1;
      };

      const asked = await say([{ text: "go" }], declaring(READ_FILE));
      const use = asked.status?.message?.parts
        .map(({ content }) => (content?.$case === "data" ? content.value : undefined))
        .find((data) => data !== undefined) as { readonly toolUseId: string };
      expect(use).toMatchObject({ name: "read_file", input: { path: "notes.txt" } });
      const data = { toolUseId: use.toolUseId, result: RESULT };
      await say([{ data, metadata: MARK }], { taskId: asked.id });

      expect(resultsTold(model.requests)).toEqual([RESULT]);
    },
  );
}
