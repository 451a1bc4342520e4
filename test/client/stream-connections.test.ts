import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { connect } from "@convoke/client";
import { expect, onTestFinished, test } from "vitest";
import { type Call, pagesV1 } from "./fake-agent.ts";
import { aStatus, aTask, frames } from "../../packages/client/src/run/a-stream.suite.ts";

/** An agent that streams short answers and counts its connections. */
async function startCounting() {
  let connections = 0;
  const replyTo = async (request: IncomingMessage) =>
    pagesV1()[request.url ?? ""]?.(url) ??
    frames((await json(request)) as Call, [aTask("WORKING"), aStatus("COMPLETED")]);
  const server = createServer((request, response) => {
    void replyTo(request).then(({ headers, body }) => response.writeHead(200, headers).end(body));
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, connections: () => connections };
}

test("answers that are streamed one after the other share a connection", async () => {
  const agent = await startCounting();
  const remote = await connect(agent.url);

  for (let count = 0; count < 10; count++) {
    for await (const _ of remote.stream("a"));
  }

  // The one for the card may have been another.
  expect(agent.connections()).toBeLessThanOrEqual(2);
});
