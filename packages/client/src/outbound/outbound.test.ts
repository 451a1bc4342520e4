import { createOutbound } from "#outbound";
import { expect, test } from "vitest";
import { startServer } from "../../../egress/src/connections/local-server.suite.ts";
import { readText } from "@convoke/egress/http";

test("in Node the requests go through the egress policy, with the user's options", async () => {
  const server = await startServer((response) => response.end("hello"));
  const outbound = createOutbound({ trusted: [server.url] });

  const answer = await outbound.request({ url: server.url });

  expect(await readText(answer, undefined)).toBe("hello");
  await expect(outbound.request({ url: "http://127.0.0.1:1/" })).rejects.toMatchObject({
    kind: "refused",
  });
  expect("openHttp2" in outbound).toBe(true);
});

test("listed addresses may be reached too", async () => {
  const server = await startServer((response) => response.end("hello"));
  const outbound = createOutbound({ trusted: [], allow: ["127.0.0.1"] });

  expect((await outbound.request({ url: server.url })).status).toBe(200);
});

test("a given fetch is used for all requests", async () => {
  const outbound = createOutbound({
    trusted: [],
    fetch: () => Promise.resolve(new Response("by fetch")),
  });

  const answer = await outbound.request({ url: "http://127.0.0.1:1/" });

  expect(await readText(answer, undefined)).toBe("by fetch");
});
