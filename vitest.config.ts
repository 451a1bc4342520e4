import { defineConfig } from "vitest/config";
import { defaultServerConditions } from "vite";
import { NotRun } from "./test/not-run.ts";

/** Tests run on the live sources: no build comes before them. */
const conditions = ["@convoke/source", ...defaultServerConditions];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "apps/*/src/**/*.test.ts",
      "test/**/*.test.ts",
      "examples/**/*.test.ts",
    ],
    reporters: ["default", new NotRun()],
    // More than there are cores: many tests wait for processes, timers and sockets of their own.
    maxWorkers: 3,
    // A liveness bound on a slow machine, not a performance claim.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
