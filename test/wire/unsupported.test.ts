import { OPERATIONS } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS, aMessage } from "./dialect.ts";
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
      verifies(
        "R29",
        `in a ${verb} of ${dialect.version} are -32003 and create no task`,
        async () => {
          const client = new WireClient(server, dialect);
          const parts = [dialect.text("hello")];
          const message = {
            messageId: `push-${dialect.version}-${verb}`,
            role: dialect.user,
            parts,
          };

          const answer = await client.call(verb, { message, configuration: dialect.pushing });

          expect(faultOf(answer).code).toBe(-32003);
          expect(await taskCount()).toBe(0);
        },
      );
    }
  }
});

describe("streams, which the card does not declare", () => {
  const silent = useServer(demoAgent, { streaming: false });

  for (const dialect of DIALECTS) {
    verifies("R32", `of ${dialect.version} are -32004 and create no task`, async () => {
      const card = await (await fetch(`${silent.url}.well-known/agent-card.json`)).json();
      const client = new WireClient(silent, dialect);
      const params = { message: aMessage(dialect, "hello") };

      const [refused, sent] = [
        await client.call("stream", params),
        await client.call("send", params),
      ];

      expect(card).toMatchObject({ capabilities: { streaming: false } });
      expect(faultOf(refused).code).toBe(-32004);
      expect(client.resultOf(sent)).toMatchObject({ kind: "task", status: { state: "completed" } });
    });
  }
});

describe("a rejected stream", () => {
  const open = useServer();
  const guarded = useServer(demoAgent, { token: "secret" });

  verifies(["R32", "R34"], "is a stream of one error in 0.3, and not a stream in 1.0", async () => {
    const [v03, v1] = DIALECTS.map((dialect) => new WireClient(open, dialect)) as [
      WireClient,
      WireClient,
    ];

    for (const [verb, params, code] of [
      ["stream", {}, -32602],
      ["subscribe", { id: "unknown" }, -32001],
    ] as const) {
      const old = await v03.call(verb, params);
      expect(old.status).toBe(200);
      expect(old.headers.get("content-type")).toBe("text/event-stream");
      expect(old.text).toMatch(/^data: [^\n]*\n\n$/);
      expect(bodyOf(old)).toMatchObject({ jsonrpc: "2.0", id: 1, error: { code } });
      const answer = await v1.call(verb, params);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(faultOf(answer).code).toBe(code);
    }
  });

  test("that the guard rejects keeps its status and is JSON", async () => {
    const answer = await post(guarded.url, rpcText("message/stream", {}));

    expect(answer.status).toBe(401);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(bodyOf(answer).error?.code).toBe(-32603);
  });
});

describe("an extended card that does not exist", () => {
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

/** The number of tasks. */
async function taskCount(): Promise<number> {
  const answer = await post(server.url, rpcText("ListTasks", {}));
  return (valueOf(answer) as { totalSize: number }).totalSize;
}
