import { expect, test } from "vitest";
import { connect } from "../agent/connect.ts";
import { discover } from "../cards/discovery.ts";
import { A2aInvocation } from "./a2a-invocation.ts";

const BASE = "http://127.0.0.1:1";
const CARD = {
  name: "A",
  version: "1",
  protocolVersion: "0.3.0",
  preferredTransport: "JSONRPC",
  url: BASE,
};

test("a name that resolved to a public address for the card may not resolve to a private one for the call", async () => {
  const order = {
    base: BASE,
    message: "hi",
    depth: 1,
    timeoutMs: 20_000,
    options: { trusted: false },
  };
  const invocation = new A2aInvocation(order, CARD);

  await expect(invocation.submit(new AbortController().signal)).rejects.toMatchObject({
    kind: "refused",
  });
});

test("connect and discover accept an untrusted URL, too", async () => {
  const refused = { kind: "refused" };

  await expect(connect(BASE, { trusted: false })).rejects.toMatchObject(refused);
  await expect(discover(BASE, { trusted: false })).rejects.toMatchObject(refused);
  await expect(discover(BASE)).rejects.toMatchObject({ kind: "unreachable" });
});
