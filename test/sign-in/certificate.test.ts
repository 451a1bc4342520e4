import { connect, mtls, serve } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { knowingAgent } from "../auth/a-knowing-agent.ts";
import { selfSigned } from "../bindings/self-signed.ts";
import { keptPort } from "../harness/kept-port.ts";

const own = selfSigned();
const client = selfSigned();

/** Its card names itself, or another address. */
async function aServer(named?: string): Promise<string> {
  const port = await keptPort();
  const url = `https://localhost:${port}`;
  const server = await serve(knowingAgent, {
    port,
    data: "memory",
    publicUrl: named ?? url,
    tls: { ...own, ca: client.cert },
    auth: [mtls()],
  });
  onTestFinished(() => server.close());
  return url;
}

test.each(["jsonrpc", "rest", "grpc"] as const)(
  "a certificate identifies the client over %s",
  async (binding) => {
    const url = await aServer();
    const certificate = { ...client, ca: own.cert };
    const agent = await connect(url, { certificate, bindings: [binding], cache: false });
    onTestFinished(() => agent.close());

    expect((await agent.send("who?")).text).toBe('{"owner":"localhost"}');
  },
);

test("a certificate is not presented to another origin", async () => {
  const url = await aServer(await aServer());
  const certificate = { ...client, ca: own.cert };
  const options = { cache: false, allow: ["localhost"], retry: false } as const;
  const agent = await connect(url, { certificate, ...options });
  onTestFinished(() => agent.close());

  // Without the certificate option, not even the authority of the other server is known.
  await expect(agent.get("any")).rejects.toMatchObject({ kind: "unreachable" });
});

test("a certificate needs connections of our own", async () => {
  await expect(
    connect("https://localhost", { certificate: client, fetch: globalThis.fetch }),
  ).rejects.toThrow("certificate is available in Node only, and not together with fetch");
});
