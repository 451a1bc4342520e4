import { once } from "node:events";
import { request } from "node:https";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";
import { type MtlsOptions, mtls, serve } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { verifies } from "../verifies.ts";
import { knowingAgent } from "./a-knowing-agent.ts";

const own = selfSigned();
const client = selfSigned();
const stranger = selfSigned();

type Certificate = typeof own;

async function aServer(options?: MtlsOptions): Promise<string> {
  const tls = { ...own, ca: client.cert };
  const server = await serve(knowingAgent, { port: 0, data: "memory", tls, auth: [mtls(options)] });
  onTestFinished(() => server.close());
  return server.url.replace("127.0.0.1", "localhost");
}

const HEADERS = { "a2a-version": "1.0", "content-type": "application/json" };
const MESSAGE = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "who?" }] };

async function overHttp1(url: string, certificate?: Certificate) {
  const asked = request(`${url}message:send`, {
    method: "POST",
    headers: HEADERS,
    ca: own.cert,
    agent: false,
    ...certificate,
  });
  asked.end(JSON.stringify({ message: MESSAGE }));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

async function overHttp2(url: string, certificate?: Certificate) {
  const session = connect(url, { ca: own.cert, ...certificate });
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": "/message:send", ...HEADERS });
  stream.end(JSON.stringify({ message: MESSAGE }));
  const [headers] = (await once(stream, "response")) as [{ readonly ":status": number }];
  return { status: headers[":status"], body: await text(stream) };
}

for (const [name, send] of Object.entries({ overHttp1, overHttp2 })) {
  verifies("R114", `a client certificate identifies its holder (${name})`, async () => {
    const url = await aServer();

    const holder = await send(url, client);
    const nobody = await send(url);
    const other = await send(url, stranger);

    expect(holder.status).toBe(200);
    expect(holder.body).toContain(String.raw`{\"owner\":\"localhost\"}`);
    expect(nobody.status).toBe(401);
    expect(other.status).toBe(401);
    expect(other.body).toContain("the client certificate is not trusted");
  });
}

test("the operator decides who the holder of a certificate is", async () => {
  const url = await aServer({
    identify: ({ subject }) => ({ owner: `machine ${String(subject.CN)}`, scopes: ["read"] }),
  });
  const closed = await aServer({ identify: () => undefined });

  expect((await overHttp1(url, client)).body).toContain("machine localhost");
  expect((await overHttp1(closed, client)).body).toContain("is not known here");
});
