import { MortalServer } from "../harness/mortal-server.ts";
import { type CrashPlan, crashEnvironment } from "./crash-point.ts";

/**
 * A server that kills itself once, as planned. With the spec of a model it serves an agent with a
 * model.
 */
export function aCrashingServer(
  receiverUrl: string,
  plan: CrashPlan,
  model?: string,
): MortalServer {
  const server = new MortalServer({
    script: new URL("./crash-server.ts", import.meta.url),
    env: (before) => ({
      CONVOKE_RECEIVER: receiverUrl,
      ...(model !== undefined && { CONVOKE_MODEL: model }),
      ...(before === 0 && crashEnvironment(plan)),
    }),
    plannedCrashes: 1,
  });
  void server.start();
  return server;
}

/** Every eighth row of a crash table; `npm run test:crash` runs them all. */
export function rowsOfTheDay<Row>(rows: readonly Row[]): readonly Row[] {
  const isWhole = process.env["CONVOKE_CRASH_ROWS"] === "all";
  return isWhole ? rows : rows.filter((_, place) => place % 8 === 0);
}
