import fc from "fast-check";

/** How often a property runs by default. `npm run test:properties` runs each 1000 times. */
const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 40);

fc.configureGlobal({ numRuns: RUNS });
