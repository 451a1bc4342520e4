import { OPERATIONS } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { bodyOf, faultOf, post, rpcText } from "./rpc.ts";
import { WireClient, valueOf } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const server = useServer(demoAgent, { push: false });

const PUSH = ["createPushConfig", "getPushConfig", "listPushConfigs", "deletePushConfig"] as const;

describe("push notifications, which the card does not declare", () => {
  for (const operation of PUSH) {
    const { method, methods03 } = OPERATIONS[operation];

    for (const name of [method, ...methods03]) {
      verifies("R29", `${name} is -32003`, async () => {
        const answer = await post(server.url, rpcText(name, { id: "any", taskId: "any" }));

        expect(answer.status).toBe(200);
        expect(bodyOf(answer).id).toBe(1);
        expect(faultOf(answer).code).toBe(-32003);
      });
    }
  }

  for (const dialect of DIALECTS) {
    for (const verb of ["send", "stream"] as const) {
      verifies("R29", `in a ${verb} of ${dialect.version} are -32003, and no task`, async () => {
        const client = new WireClient(server, dialect);
        const parts = [dialect.text("hello")];
        const message = { messageId: `push-${dialect.version}-${verb}`, role: dialect.user, parts };

        const answer = await client.call(verb, { message, configuration: dialect.pushing });

        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(faultOf(answer).code).toBe(-32003);
        expect(await taskCount()).toBe(0);
      });
    }
  }
});

describe("an extended card, which there is none of", () => {
  for (const method of OPERATIONS.getExtendedCard.methods03) {
    verifies("R19", `${method} is -32007`, async () => {
      const answer = await post(server.url, rpcText(method, {}));

      expect(answer.status).toBe(200);
      expect(faultOf(answer).code).toBe(-32007);
    });
  }

  verifies("R29", "GetExtendedAgentCard is -32004", async () => {
    const answer = await post(server.url, rpcText("GetExtendedAgentCard", {}));

    expect(answer.status).toBe(200);
    expect(faultOf(answer).code).toBe(-32004);
  });
});

/** How many tasks there are. */
async function taskCount(): Promise<number> {
  const answer = await post(server.url, rpcText("ListTasks", {}));
  return (valueOf(answer) as { totalSize: number }).totalSize;
}
