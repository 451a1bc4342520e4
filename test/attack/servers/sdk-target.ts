import { SDK_V1 } from "../../interop/sdk-v1.ts";
import type { StartedTarget } from "../run-attack.ts";
import type { Target } from "../target.ts";
import { TokenIssuer } from "../token-issuer.ts";
import { openReceiver } from "../wire/trap.ts";
import { TargetProcess } from "./target-process.ts";

/** `@a2a-js/sdk` 1.3.0, with its server and its client. */
export async function startSdk(facts: Pick<Target, "slowMs">): Promise<StartedTarget> {
  const issuer = new TokenIssuer();
  const receiver = await openReceiver();
  const process = await TargetProcess.start(new URL("./sdk-server.ts", import.meta.url), {
    keySet: issuer.keySet,
  });
  const target: Target = {
    ...(await process.target()),
    ...facts,
    callers: {
      ann: { authorization: `Bearer ${issuer.token()}` },
      bob: { authorization: `Bearer ${issuer.token({ claims: { sub: "bob" } })}` },
    },
    issuer,
    receiver,
    behaviors: { ask: "ask", large: "large" },
    callAgent,
  };
  return {
    target,
    [Symbol.asyncDispose]: async () => {
      await process.stop();
      receiver.close();
    },
  };
}

/** Calls an agent with the client of the SDK, and its own handler for credentials. */
async function callAgent(url: string, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  const authenticated = SDK_V1.authenticate(fetch, {
    headers: () => Promise.resolve(headers),
    shouldRetryWithHeaders: () => Promise.resolve(undefined),
  });
  const agent = await SDK_V1.discover(url, authenticated).catch(() => undefined);
  await agent?.send("hello").catch(() => undefined);
}
