import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../wire/exchange.ts";
import type { HttpReply } from "../wire/http.ts";
import { RestClient, type RestRequest } from "../wire/rest.ts";

/** Paths, bodies and media types of REST. */
export const REST: readonly Probe[] = [
  {
    name: "content-type",
    says: "A response is application/a2a+json.",
    claims: [should("v1-S52", "§11.1, §14.1")],
    bindings: ["rest"],
    async run(scene) {
      const response = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      const type = response.headers["content-type"] ?? "";
      if (type.startsWith("application/a2a+json")) return;
      throw new Failed("the content type application/a2a+json", {
        ...response.exchange,
        received: `${type}: ${response.exchange.received}`,
      });
    },
  },
  {
    name: "content-type",
    says: "A response is application/json.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const response = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      if ((response.headers["content-type"] ?? "").startsWith("application/json")) return;
      throw new Failed("the content type application/json", response.exchange);
    },
  },
  {
    name: "not-json",
    says: "A body that is not JSON is rejected with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.6"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.client.version === "1.0" ? "/message:send" : "/v1/message:send";
      await expectClientError(scene, { method: "POST", path, body: "{no json" });
    },
  },
  {
    name: "unknown-path",
    says: "An unknown path is rejected with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.3"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.client.version === "1.0" ? "/convoke/check" : "/v1/convoke/check";
      await expectClientError(scene, { method: "GET", path });
    },
  },
  {
    name: "encoded-id",
    says: "An id with an encoded slash in the path is decoded.",
    claims: [should("v1-S51", "§11.3")],
    bindings: ["rest"],
    async run(scene) {
      const params = scene.requests.get("convoke/check no such task");
      await scene.expectError(scene.call("getTask", params), "TaskNotFound");
    },
  },
];

async function expectClientError(scene: Scene, place: RestRequest): Promise<void> {
  const { client } = scene;
  if (!(client instanceof RestClient)) throw new TypeError("this probe needs REST");
  const { status }: HttpReply = await client.request(place);
  if (status < 400 || status > 499) throw new Failed("a status from 400 to 499");
}
