import { createEgress } from "@convoke/egress";
import { signDelivery } from "@convoke/egress/webhooks";
import type { PushOptions } from "@convoke/engine";
import { commaList } from "./comma-list.ts";
import { StartError } from "./start-error.ts";

/** How notifications are pushed. A mistake is found now, and not when the first one is sent. */
export function readPush(env: Readonly<Record<string, string | undefined>>): PushOptions {
  const allow = commaList(env["CONVOKE_PUSH_ALLOW"]);
  const secret = env["CONVOKE_PUSH_SECRET"] || undefined;
  judged("CONVOKE_PUSH_ALLOW", () => createEgress({ allow }));
  if (secret === undefined) return { allow };
  judged("CONVOKE_PUSH_SECRET", () => signDelivery({ secret, id: "", timestamp: 0, body: "" }));
  return { allow, secret };
}

/** Those who use a setting know best what is wrong with it. */
function judged(name: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const problem = error.message.replace(/^egress: /, "");
    throw new StartError(`${name} cannot be used: ${problem}.`, { cause: error });
  }
}
