import fc from "fast-check";
import { beforeEach } from "vitest";
import { forgetCards } from "../packages/client/src/cards/discovery.ts";

/** How often a property runs by default. `npm run test:properties` runs each 1000 times. */
const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 30);

fc.configureGlobal({ numRuns: RUNS });

// The tests of many files run in one process, and the system assigns ports again.
beforeEach(forgetCards);
