import type { Speaker } from "../conformance/speaker.ts";
import type { WireHeaders as Headers } from "@convoke/check/wire";

/** A speaker, and what the answers to it say of extensions. */
export interface ListeningSpeaker {
  readonly speaker: Speaker;
  /** Both headers of the last answer; nothing where it had none. */
  echo(): { readonly "1.0": string | undefined; readonly "0.3": string | undefined };
  /** The list under the name that belongs to the version which is spoken. */
  active(): readonly string[];
}

/** A speaker that asks for extensions, under the header of its version unless told otherwise. */
export function asking(
  speaker: Speaker,
  uris: string,
  header = headerOf(speaker),
): ListeningSpeaker {
  return listening(speaker, { [header]: uris });
}

export function listening(speaker: Speaker, headers: Headers): ListeningSpeaker {
  let last: Headers = {};
  const echo = (): ReturnType<ListeningSpeaker["echo"]> => ({
    "1.0": last["a2a-extensions"],
    "0.3": last["x-a2a-extensions"],
  });
  return {
    speaker: speaker.with(headers, (answered) => {
      last = answered;
    }),
    echo,
    active: () => echo()[speaker.version]?.split(", ") ?? [],
  };
}

function headerOf({ version }: Speaker): string {
  return version === "1.0" ? "a2a-extensions" : "x-a2a-extensions";
}
