import { defineAgent } from "convoke";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { installProject } from "../harness/install-project.ts";
import { useServer } from "../wire/wire-server.ts";

/** A separate project, so that installing the workspace does not download it. */
const FOLDER = join(import.meta.dirname, "ag-ui");

const INSTALL_MS = 150_000;

const RUN_MS = 60_000;

const agent = defineAgent({
  name: "Teller",
  description: "Answers with text.",
  async *run() {
    yield "The ";
    yield "answer.";
  },
});

beforeAll(() => installProject(FOLDER), INSTALL_MS);

describe("AG-UI", () => {
  const server = useServer(agent, { finalMessage: true });

  test(
    "shows the answer of a function, which it reads from the last status, and its middleware gets it",
    async () => {
      const run = promisify(execFile);
      const script = join(FOLDER, "client.js");

      const { stdout } = await run(process.execPath, [script, server.url, "Teller", "go"]);

      expect(JSON.parse(stdout)).toEqual({
        shown: ["The answer."],
        results: [
          expect.objectContaining({
            kind: "task",
            status: expect.objectContaining({ state: "completed" }) as unknown,
          }),
        ],
      });
    },
    RUN_MS,
  );
});
