import { scriptedModel } from "@convoke/runtime/testing";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { saying } from "../coder-wire/a-coder-client.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { aFolder, serveCoder } from "../coder-agent/a-coder.ts";

const PAGE = `<html><head><style>p { color: red }</style><script>alert(1)</script></head>
<body><h1>Fish &amp; chips</h1><p>5 &lt; 6</p><!-- secret --></body></html>`;

/** A web server on this machine, and the paths that were requested. */
async function aWebServer() {
  const requested: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    requested.push(url);
    const isPage = url === "/page";
    response.writeHead(isPage ? 200 : 404, { "content-type": isPage ? "text/html" : "text/plain" });
    response.end(isPage ? PAGE : "x".repeat(200_000));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { requested, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const FULL = { mode: "full" } as const;

test("fetch_url gives the model the text of a page, and the beginning of a long one", async () => {
  const { host, requested } = await aWebServer();
  const model = scriptedModel([
    [
      calls("fetch_url", { url: `http://${host}/page` }),
      calls("fetch_url", { url: `http://${host}/long` }),
    ],
    "Done.",
  ]);
  const client = await serveCoder(aFolder(), {
    model,
    policy: FULL,
    fetch: { allow: ["127.0.0.1"] },
  });

  await client.send(saying("go"));

  const [page, long] = resultsTold(model.requests) as readonly { readonly text: string }[];
  expect(page).toEqual({ status: 200, contentType: "text/html", text: "Fish & chips\n5 < 6" });
  expect(long).toMatchObject({ status: 404 });
  expect(long!.text.length).toBeLessThan(100_000);
  expect(requested.toSorted()).toEqual(["/long", "/page"]);
});

test("fetch_url does not reach the machine and its network unless the operator allows it", async () => {
  const { host, requested } = await aWebServer();
  const urls = [`http://${host}/page`, "file:///etc/passwd", "no address"];
  const model = scriptedModel([urls.map((url) => calls("fetch_url", { url })), "Done."]);
  const client = await serveCoder(aFolder(), { model, policy: FULL });

  expect((await client.send(saying("go"))).status.state).toBe("completed");

  for (const told of resultsTold(model.requests)) expect(told).toContain("fetch_url failed");
  expect(JSON.stringify(resultsTold(model.requests))).not.toContain("root:");
  expect(requested).toEqual([]);
});

test("without fetch, the model has no fetch_url", async () => {
  const model = scriptedModel(["Done."]);
  const client = await serveCoder(aFolder(), { model, fetch: false });

  await client.send(saying("go"));

  expect(model.requests[0]!.tools.map(({ name }) => name)).not.toContain("fetch_url");
});
