import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { defaultServerConditions } from "vite";
import { NotRun } from "./test/not-run.ts";
import { RequirementRecord } from "./test/requirements/requirement-record.ts";
import { SecondTries } from "./test/second-tries.ts";

// Workers and the programs that tests start load the same modules again and again.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("node_modules/.cache/compile", import.meta.url),
);

// Where the tests of this run start their database server, if one of them needs it.
process.env["CONVOKE_TEST_DATABASE"] ??= join(tmpdir(), `convoke-database-${process.pid}`);

/**
 * Tests run on the live sources: no build comes before them. Node does not know the condition
 * `module`, which is for bundlers; some packages have code there that Node cannot load.
 */
const conditions = [
  "@convoke/source",
  ...defaultServerConditions.filter((condition) => condition !== "module"),
];

/** Whole servers, agents and programs, which are closed with the test and change nothing of its process. */
const TIDY = [
  "acp",
  "agent-tree",
  "approvals",
  "attack",
  "auth",
  "bindings",
  "cards",
  "check",
  "cli",
  "client",
  "client-check",
  "client-tools",
  "cluster",
  "coder",
  "coder-agent",
  "coder-wire",
  "completion",
  "conformance",
  "crash",
  "doctor",
  "drain",
  "embedding",
  "engine",
  "extensions",
  "files",
  "functions",
  "host",
  "inbound",
  "interop",
  "kill",
  "limits",
  "lists",
  "loop",
  "mcp",
  "mcp-server",
  "model",
  "models",
  "move",
  "openapi",
  "operating",
  "processes",
  "push",
  "reads",
  "rest",
  "retention",
  "sign-in",
  "start",
  "sub-agents",
  "sub-agents-hostile",
  "upgrade",
  "wire",
].map((folder) => `test/${folder}/**/*.test.ts`);

/**
 * Tests that build, install or download packages, keep several servers busy for long, start many
 * programs, move much data, or fill a database. `npm run test:adapters`, `test:cluster`,
 * `test:million`, and those that CI runs, `test:docs`, `test:fresh`, `test:guides`, `test:interop`,
 * `test:large` and `test:pack`, run them.
 */
const HUGE = [
  ...(process.env["CONVOKE_ADAPTERS"] === undefined ? ["test/adapters/frameworks.test.ts"] : []),
  ...(process.env["CONVOKE_PACK_NODES"] === undefined ? ["test/pack/**", "test/deploy/**"] : []),
  ...(process.env["CONVOKE_DOCS"] === undefined ? ["test/docs/site.test.ts"] : []),
  ...(process.env["CONVOKE_FRESH"] === undefined ? ["test/fresh/**"] : []),
  ...(process.env["CONVOKE_GUIDES"] === undefined
    ? ["examples/coder-ci/**", "examples/mcp-tools/**"]
    : []),
  ...(process.env["CONVOKE_INTEROP"] === undefined
    ? [
        "test/interop/ag-ui.test.ts",
        "test/interop/*gemini.test.ts",
        "test/check/peers.test.ts",
        "test/client-check/peers.test.ts",
      ]
    : []),
  ...(process.env["CONVOKE_LARGE"] === undefined
    ? [
        "test/acp/mcp-servers.test.ts",
        "test/acp/remote.test.ts",
        "test/client/bridge-kill.test.ts",
        "test/client/resume-restart.test.ts",
        "test/dev/**",
        "test/lists/large-tasks.test.ts",
        "test/loop-bounds/large.test.ts",
        "test/mcp/broken-servers.test.ts",
        "test/mcp-server/restarts.test.ts",
        "test/sub-agents-hostile/garbage.test.ts",
      ]
    : []),
  ...(process.env["CONVOKE_CLUSTER_TASKS"] === undefined
    ? [
        ...["agents", "takeover", "database-restart", "failover", "webhooks"].map(
          (name) => `test/cluster/${name}.test.ts`,
        ),
        "examples/cluster/**",
      ]
    : []),
  ...(process.env["CONVOKE_CONSOLE_EVENTS"] === undefined
    ? ["accessible", "approvals", "chat", "inspector", "operations", "task"]
        .map((name) => `test/console/${name}.test.ts`)
        .concat("test/browser/page.test.ts")
    : []),
  ...(process.env["CONVOKE_SOAK_TASKS"] === undefined ? ["test/soak/postgres.test.ts"] : []),
  ...(process.env["CONVOKE_SOAK_MINUTES"] === undefined ? ["test/soak/mixed.test.ts"] : []),
  ...(process.env["CONVOKE_STORED_TASKS"] === undefined ? ["test/million/**"] : []),
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "units",
          include: ["packages/*/src/**/*.test.ts", "apps/*/src/**/*.test.ts", ...TIDY],
          exclude: [...HUGE, "**/node_modules/**"],
          // They leave nothing behind, so one worker runs many files: half the time.
          isolate: false,
          setupFiles: ["test/unit-setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "worlds",
          include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...TIDY, ...HUGE, "**/node_modules/**"],
        },
      },
    ],
    globalSetup: "test/harness/stop-postgres.ts",
    reporters: ["default", new NotRun(), new RequirementRecord(), new SecondTries()],
    // Shared machines stop for seconds. A test that needs a second try in CI is named at the end,
    // and is a fault to be found; it does not refuse the work of others.
    retry: process.env["CI"] === undefined ? 0 : 1,
    // More than there are cores: many tests wait for processes, timers and sockets of their own.
    maxWorkers: 8,
    // Liveness bounds on a slow machine, not performance claims.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
