import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { keepOrdinary } from "../scene/tasks.ts";
import { Failed, Skipped } from "../verdict.ts";
import { isObject } from "../wire/json.ts";

/** Whether the interface is there at all. Nothing else is tried where it is not. */
export const GATE_PROBE: Probe = {
  name: "answers",
  says: "What the card declares is there, in that binding and version.",
  claims: [must("v1-S2", "§5.2, §8.3"), must("v03-S3", "§5.6")],
  async run(scene) {
    const params = scene.requests.send(scene.settings.message);
    const answer = await scene.call("sendMessage", params);
    if (answer.kind === "served") return keepOrdinary(scene, answer);
    const { reason, http } = answer.error;
    if (reason === "Unauthenticated" || reason === "Forbidden")
      throw new Skipped(credentials(scene));
    const isElsewhere = reason === "MethodNotFound" || reason === "VersionNotSupported";
    const isStranger = http !== undefined && !isObject(answer.body);
    if (isElsewhere || isStranger || http === 404 || http === 405 || answer.error.grpc === 12) {
      throw new Failed("an answer to the ordinary message", answer.exchange);
    }
    throw new Skipped("the agent refuses the ordinary message: --message <text> that it takes");
  },
};

function credentials({ settings }: Scene): string {
  const has = Object.keys(settings.credentials).length > 0;
  return has
    ? "the server refuses the credentials: check --token and --header"
    : 'the server wants credentials: --token <token> or --header "Name: value"';
}
