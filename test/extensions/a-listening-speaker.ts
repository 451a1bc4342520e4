import type { Speaker } from "../conformance/speaker.ts";
import type { WireHeaders as Headers } from "@convoke/check/wire";

/** A speaker, and the extensions in the responses it receives. */
export interface ListeningSpeaker {
  readonly speaker: Speaker;
  /** Both headers of the last response; absent if it had none. */
  echo(): { readonly "1.0": string | undefined; readonly "0.3": string | undefined };
  /** The list under the header name of the version. */
  active(): readonly string[];
}

/** A speaker that requests extensions, in the header of its version by default. */
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
