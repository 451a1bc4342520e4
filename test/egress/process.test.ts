import { once } from "node:events";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../../packages/egress/src/connections/local-server.suite.ts";
import { run } from "../harness/program.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("a proxy from the environment is not used, and idle connections keep no process alive", async () => {
  const server = await startServer((response) => response.end("direct"));
  const proxy = await startServer((response) => response.end("by proxy"));
  const http2 = createHttp2((_request, response) => response.end("direct, too")).listen(
    0,
    "127.0.0.1",
  );
  await once(http2, "listening");
  onTestFinished(() => void http2.close());
  const http2Url = `http://127.0.0.1:${(http2.address() as AddressInfo).port}`;
  // Inside the workspace, so that the packages are found by their names.
  const folder = await mkdtemp(join(ROOT, "node_modules", ".egress-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = join(folder, "program.mjs");
  await writeFile(
    program,
    `import { text } from "node:stream/consumers";
     import { createEgress } from "@convoke/egress";
     import { readText } from "@convoke/egress/http";
     const egress = createEgress({ trusted: ["${server.url}", "${http2Url}"] });
     console.log(await readText(await egress.request({ url: "${server.url}" })));
     const session = await egress.openHttp2("${http2Url}");
     console.log(await text(session.request({ ":path": "/" })));`,
  );

  const started = Date.now();
  const { code, stdout, stderr } = await run(
    process.execPath,
    ["--conditions=@convoke/source", program],
    {
      cwd: ROOT,
      env: {
        NODE_USE_ENV_PROXY: "1",
        HTTP_PROXY: proxy.url,
        http_proxy: proxy.url,
        ALL_PROXY: proxy.url,
        NO_PROXY: "",
      },
    },
  );

  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "direct\ndirect, too\n",
    stderr: "",
  });
  expect(proxy.connections()).toBe(0);
  // Far less than the minute for which HTTP/2 sessions are kept.
  expect(Date.now() - started).toBeLessThan(20_000);
});
