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
      test(`are served by their own grammar when A2A-Version is ${JSON.stringify(asked)}`, async () => {
        const client = new WireClient(server, dialect);

        const answer = await client.send("hello", { headers: { "a2a-version": asked } });

        expectSpelling(valueOf(answer), dialect);
      });
    }

    test("are served by their own grammar without the header", async () => {
      expectSpelling(valueOf(await new WireClient(server, dialect).send("hello")), dialect);
    });

    test("take the version from the query, too", async () => {
      const client = new WireClient({ url: `${server.url}?A2A-Version=1.0.1` }, dialect);

      expectSpelling(valueOf(await client.send("hello")), dialect);
    });

    for (const asked of ["99.0", "2.0", "1.1", "0.2", "1", "one", "1.0-beta"]) {
      test(`are refused with -32009 and their id when A2A-Version is ${asked}`, async () => {
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

    test("that stream are refused when the version is not spoken here", async () => {
      const client = new WireClient(server, dialect);

      const answer = await client.call("stream", {}, { "a2a-version": "99.0" });

      expect(faultOf(answer).code).toBe(-32009);
    });
  });
}

test("a method that neither version has is told in the words of the version asked for", async () => {
  const v1 = await post(server.url, rpcText("NoSuch", {}), { "a2a-version": "1.0" });
  const v03 = await post(server.url, rpcText("no/such", {}), { "a2a-version": "0.3" });
  const none = await post(server.url, rpcText("no/such", {}));

  expect(bodyOf(v1).error?.data).toMatchObject([{ reason: "METHOD_NOT_FOUND" }]);
  expect(bodyOf(v03).error?.data).toMatchObject({ method: "no/such" });
  expect(bodyOf(none).error?.data).toMatchObject({ method: "no/such" });
});

test("a card in a version that is not spoken here is an error that says which are", async () => {
  const answer = await fetch(`${server.url}.well-known/agent-card.json`, {
    headers: { "a2a-version": "99.0" },
  });

  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    // In the words of the newest version that is.
    error: { code: -32009, data: [{ metadata: { supported: "0.3, 1.0" } }] },
  });
});

/** The answer of a send, as the version spells it. */
function expectSpelling(result: unknown, { version }: Dialect): void {
  expect(result).toMatchObject(
    version === "0.3"
      ? { kind: "task", status: { state: "completed" } }
      : { task: { status: { state: "TASK_STATE_COMPLETED" } } },
  );
}
