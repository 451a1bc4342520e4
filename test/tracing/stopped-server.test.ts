import { connect } from "convoke";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { serveConvoke } from "../start/convoke-process.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { startOtlpReceiver } from "./otlp-receiver.ts";

const SETUP = fileURLToPath(new URL("otlp-setup.ts", import.meta.url));

verifies("R123", "`convoke serve` sends its last spans before it exits", async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(() => receiver.close());
  const { program, url } = await serveConvoke({
    cwd: temporaryFolder(),
    env: {
      NODE_OPTIONS: `--import ${SETUP}`,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url,
      CONVOKE_DATA: "memory",
    },
  });
  const agent = await connect(url);
  onTestFinished(() => agent.close());
  await agent.send("hello");

  // The SDK sends once in five seconds, and now.
  const { code } = await program.kill("SIGTERM");

  expect(code).toBe(0);
  expect(receiver.spans.map(({ name }) => name)).toContain("POST /");
});
