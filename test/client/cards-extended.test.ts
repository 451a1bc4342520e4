import { type BindingName, connect } from "@convoke/client";
import { type ProtocolVersion, generateCardKey } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { pagesV03, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const WAYS: readonly (readonly [BindingName, ProtocolVersion])[] = [
  ["jsonrpc", "0.3"],
  ["rest", "0.3"],
  ["grpc", "0.3"],
  ["jsonrpc", "1.0"],
  ["rest", "1.0"],
  ["grpc", "1.0"],
];

describe("a server of our own", () => {
  const server = useServer(conformanceAgent(), {
    token: "secret",
    extendedCard: ({ owner }) => ({ description: `For ${owner} alone.` }),
  });

  for (const [binding, version] of WAYS) {
    verifies(
      ["v1-C5", "v03-C5"],
      `serves its extended card via ${binding} in ${version}`,
      async () => {
        const way = { bindings: [binding], version, token: "secret" };

        const plain = await connect(server.url, way);
        const known = await connect(server.url, { ...way, extended: true });

        expect(plain.card["description"]).not.toMatch(/alone/);
        expect(known.card["description"]).toMatch(/^For .* alone\.$/);
        expect((await known.send("hello")).text).toBe("hello");
        plain.close();
        known.close();
      },
    );
  }
});

describe.each([
  [
    "0.3",
    pagesV03({ supportsAuthenticatedExtendedCard: true }),
    "agent/getAuthenticatedExtendedCard",
  ],
  ["1.0", pagesV1({ capabilities: { extendedAgentCard: true } }), "GetExtendedAgentCard"],
] as const)("the extended card in %s", (_, pages, method) => {
  verifies(
    ["v1-C5", "v03-C5"],
    "is requested as an authenticated caller and replaces the public one",
    async () => {
      const extended = { name: "Greeter for friends", capabilities: { streaming: true } };
      const agent = await startFakeAgent({ pages, answer: (call) => result(call, extended) });

      const remote = await connect(agent.url, { token: "secret", extended: true });

      expect(remote.name).toBe("Greeter for friends");
      expect(remote.card).toEqual(extended);
      expect(agent.last.call?.method).toBe(method);
      expect(agent.last.headers["authorization"]).toBe("Bearer secret");
    },
  );

  test("also replaces it if it is requested later", async () => {
    const agent = await startFakeAgent({
      pages,
      answer: (call) => result(call, { name: "Greeter for friends" }),
    });
    const remote = await connect(agent.url);
    expect(remote.name).toMatch(/Greeter$/);

    expect(await remote.extendedCard()).toEqual({ name: "Greeter for friends" });
    expect(remote.name).toBe("Greeter for friends");
  });
});

verifies(
  ["v1-C6"],
  "an agent whose card declares no extended card is not asked for one",
  async () => {
    const agent = await startFakeAgent({ pages: pagesV1() });

    await expect(connect(agent.url, { extended: true })).rejects.toMatchObject({
      kind: "unsupported",
      message: `the card of ${agent.url}/ says that it has no extended card`,
    });
    expect(agent.seen).toHaveLength(1);
  },
);

test("an extended card must be signed if the public one must be", async () => {
  const { publicKey } = await generateCardKey();
  const agent = await startFakeAgent({
    pages: pagesV1({ capabilities: { extendedAgentCard: true } }),
    answer: (call) =>
      result(call, { name: "Forged", signatures: [{ protected: "e30", signature: "" }] }),
  });
  const remote = await connect(agent.url, { trustedKeys: [publicKey] });

  await expect(remote.extendedCard()).rejects.toMatchObject({ kind: "bad-signature" });
  expect(remote.name).toBe("Greeter");
});
