import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Skipped } from "../verdict.ts";

/** A media type that no agent takes. */
const STRANGE = "application/x-convoke-check";

/** What kinds of content the agent takes. */
export const MEDIA: readonly Probe[] = [
  {
    name: "strange-media-type",
    says: "A part of a media type that the card does not list is refused as ContentTypeNotSupported.",
    claims: [must("v1-S10", "§3.1.1")],
    async run(scene) {
      needsNarrowModes(scene);
      const file = { name: "check", mimeType: STRANGE, bytes: "aGVsbG8=" };
      const params = scene.requests.send("", { parts: [{ kind: "file", file }] });
      await scene.refused(scene.call("sendMessage", params), "ContentTypeNotSupported");
    },
  },
];

function needsNarrowModes({ card }: Scene): void {
  const modes = card.inputModes;
  if (modes.length === 0) throw new Skipped("the card lists no media types");
  const wide = modes.find((mode) => mode.includes("*"));
  if (wide !== undefined) throw new Skipped(`the card takes ${wide}, so nothing is too strange`);
}
