import fc from "fast-check";

/** How often a property runs if its test does not say. `npm run test:properties` runs them 1000 times. */
const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 40);

fc.configureGlobal({ numRuns: RUNS });
