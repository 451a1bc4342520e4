import { afterEach, describe, expect, test } from "vitest";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { expectHealthy } from "./healthy.ts";
import { bodyOf, faultOf, post, rpcText } from "./rpc.ts";
import { WireClient, valueOf } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

const server = useServer();

afterEach(() => expectHealthy(server));

for (const dialect of DIALECTS) {
  describe(`methods of ${dialect.version}`, () => {
    for (const asked of ["1.0", "1.0.1", "1.0.99", "0.3", "0.3.0", "0.4", "", "1.0, 0.3"]) {
      test(`are served in their own format when A2A-Version is ${JSON.stringify(asked)}`, async () => {
        const client = new WireClient(server, dialect);

        const answer = await client.send("hello", { headers: { "a2a-version": asked } });

        expectSpelling(valueOf(answer), dialect);
      });
    }

    test("are served in their own format without the header", async () => {
      expectSpelling(valueOf(await new WireClient(server, dialect).send("hello")), dialect);
    });

    test("also accept the version in the query", async () => {
      const client = new WireClient({ url: `${server.url}?A2A-Version=1.0.1` }, dialect);

      expectSpelling(valueOf(await client.send("hello")), dialect);
    });

    for (const asked of ["99.0", "2.0", "1.1", "0.2", "1", "one", "1.0-beta"]) {
      test(`are rejected with -32009 and their id when A2A-Version is ${asked}`, async () => {
        const client = new WireClient(server, dialect);

        const byHeader = await client.send("hello", { headers: { "a2a-version": asked } });
        const byQuery = await new WireClient(
          { url: `${server.url}?A2A-Version=${asked}` },
          dialect,
        ).send("hello");

        for (const answer of [byHeader, byQuery]) {
          expect(answer.status).toBe(200);
          expect(bodyOf(answer)).toMatchObject({ jsonrpc: "2.0", id: 1 });
          expect(faultOf(answer)).toMatchObject({
            code: -32009,
            details: { requested: asked, supported: "0.3, 1.0" },
          });
        }
      });
    }

    test("that stream are rejected if the version is not supported", async () => {
      const client = new WireClient(server, dialect);

      const answer = await client.call("stream", {}, { "a2a-version": "99.0" });

      expect(faultOf(answer).code).toBe(-32009);
    });
  });
}

test("a method that neither version has is rejected in the format of the requested version", async () => {
  const v1 = await post(server.url, rpcText("NoSuch", {}), { "a2a-version": "1.0" });
  const v03 = await post(server.url, rpcText("no/such", {}), { "a2a-version": "0.3" });
  const none = await post(server.url, rpcText("no/such", {}));

  expect(bodyOf(v1).error?.data).toMatchObject([{ reason: "METHOD_NOT_FOUND" }]);
  expect(bodyOf(v03).error?.data).toMatchObject({ method: "no/such" });
  expect(bodyOf(none).error?.data).toMatchObject({ method: "no/such" });
});

test("a card in an unsupported version is an error that lists the supported ones", async () => {
  const answer = await fetch(`${server.url}.well-known/agent-card.json`, {
    headers: { "a2a-version": "99.0" },
  });

  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    // In the format of the newest supported version.
    error: { code: -32009, data: [{ metadata: { supported: "0.3, 1.0" } }] },
  });
});

/** The result of a send, as the version spells it. */
function expectSpelling(result: unknown, { version }: Dialect): void {
  expect(result).toMatchObject(
    version === "0.3"
      ? { kind: "task", status: { state: "completed" } }
      : { task: { status: { state: "TASK_STATE_COMPLETED" } } },
  );
}
