import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed, Skipped } from "../verdict.ts";
import { extensionHeader } from "../wire/extension-headers.ts";

const STRANGE = "https://example.com/extensions/convoke-check/v1";

/** Extensions that are required, offered, or unheard of. */
export const EXTENSIONS: readonly Probe[] = [
  {
    name: "strange-extension",
    says: "An extension that the agent does not know is ignored, and not said to be active.",
    claims: [should("v1-S31", "§4.6.3"), should("v03-S18", "§3.5.5, topic extensions")],
    async run(scene) {
      const { headers, exchange } = await sendWith(scene, [STRANGE, ...required(scene)]);
      const active = activeIn(headers);
      if (active.includes(STRANGE)) throw new Failed(`no ${STRANGE} in the answer`, exchange);
    },
  },
  {
    name: "offered-extension",
    says: "An extension that is asked for and active is named in the answer.",
    claims: [should("v1-S31", "§4.6.3"), should("v03-S18", "§3.5.5, topic extensions")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const offered = scene.card.extensions.map(({ uri }) => uri);
      if (offered.length === 0) throw new Skipped("the card has no extensions");
      const { headers, exchange } = await sendWith(scene, offered);
      if (offered.some((uri) => activeIn(headers).includes(uri))) return;
      const name = extensionHeader(scene.speaker.version);
      throw new Failed(`the header ${name} with what is active`, exchange);
    },
  },
  {
    name: "required-extension",
    says: "A caller that does not know a required extension is refused as ExtensionSupportRequired.",
    claims: [must("v1-S29", "§3.3.4, §4.6.3")],
    async run(scene) {
      if (required(scene).length === 0) throw new Skipped("the card requires no extension");
      const params = scene.requests.send(scene.settings.message);
      const headers = { [extensionHeader(scene.speaker.version)]: undefined };
      await scene.refused(
        scene.call("sendMessage", params, { headers }),
        "ExtensionSupportRequired",
      );
    },
  },
];

function required({ card }: Scene): readonly string[] {
  return card.extensions.filter((extension) => extension.required).map(({ uri }) => uri);
}

function sendWith(scene: Scene, uris: readonly string[]) {
  const params = scene.requests.send(scene.settings.message);
  const headers = { [extensionHeader(scene.speaker.version)]: uris.join(",") };
  return scene.served(scene.call("sendMessage", params, { headers }), "an answer all the same");
}

/** Both names are read: a server of both versions may write either. */
function activeIn(headers: Readonly<Record<string, string>>): readonly string[] {
  const names = ["a2a-extensions", "x-a2a-extensions"];
  return names.flatMap((name) => (headers[name] ?? "").split(",").map((uri) => uri.trim()));
}
