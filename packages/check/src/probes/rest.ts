import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../verdict.ts";
import type { HttpReply } from "../wire/http.ts";
import type { RestPlace } from "../wire/rest-place.ts";
import { RestSpeaker } from "../wire/rest-speaker.ts";

/** Paths, bodies and types of REST. */
export const REST: readonly Probe[] = [
  {
    name: "content-type",
    says: "An answer is application/a2a+json.",
    claims: [should("v1-S52", "§11.1, §14.1")],
    bindings: ["rest"],
    async run(scene) {
      const answer = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      const type = answer.headers["content-type"] ?? "";
      if (type.startsWith("application/a2a+json")) return;
      throw new Failed("the content type application/a2a+json", {
        ...answer.exchange,
        received: `${type}: ${answer.exchange.received}`,
      });
    },
  },
  {
    name: "content-type",
    says: "An answer is application/json.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const answer = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      if ((answer.headers["content-type"] ?? "").startsWith("application/json")) return;
      throw new Failed("the content type application/json", answer.exchange);
    },
  },
  {
    name: "not-json",
    says: "A body that is not JSON is refused with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.6"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.speaker.version === "1.0" ? "/message:send" : "/v1/message:send";
      await expectRefused(scene, { method: "POST", path, body: "{no json" });
    },
  },
  {
    name: "unknown-path",
    says: "A path that does not exist is refused with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.3"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.speaker.version === "1.0" ? "/convoke/check" : "/v1/convoke/check";
      await expectRefused(scene, { method: "GET", path });
    },
  },
  {
    name: "encoded-id",
    says: "An id with a slash, encoded in the path, is looked up like any other.",
    claims: [should("v1-S51", "§11.3")],
    bindings: ["rest"],
    async run(scene) {
      const params = scene.requests.get("convoke/check no such task");
      await scene.refused(scene.call("getTask", params), "TaskNotFound");
    },
  },
];

async function expectRefused(scene: Scene, place: RestPlace): Promise<void> {
  const { speaker } = scene;
  if (!(speaker instanceof RestSpeaker)) throw new TypeError("this is for REST");
  const { status }: HttpReply = await speaker.request(place);
  if (status < 400 || status > 499) throw new Failed("a status from 400 to 499");
}
