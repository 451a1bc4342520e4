import { A2AError } from "../errors.ts";

/** More than any caller asks for; the rest of the work on a request must not depend on the number. */
export const MAX_EXTENSIONS = 64;

/** How long the URI of one extension may be. */
export const MAX_URI_LENGTH = 1024;

/**
 * The URIs in the values of an extensions header, each once and in their order: commas part them,
 * the space around them and empty places say nothing (RFC 9110 §5.6.1), and several headers are
 * one list. Whether a URI means anything is for whoever declares it to say.
 */
export function parseExtensionList(header: string, values: readonly string[]): readonly string[] {
  const uris = new Set<string>();
  for (const value of values) {
    for (const piece of value.split(",")) {
      const uri = piece.trim();
      if (uri === "") continue;
      if (uri.length > MAX_URI_LENGTH) {
        throw tooMuch(
          header,
          `have a URI of more than ${MAX_URI_LENGTH} characters`,
          MAX_URI_LENGTH,
        );
      }
      uris.add(uri);
      if (uris.size > MAX_EXTENSIONS) {
        throw tooMuch(header, `name more than ${MAX_EXTENSIONS} extensions`, MAX_EXTENSIONS);
      }
    }
  }
  return [...uris];
}

/** The same list as the value of one header. */
export function formatExtensionList(uris: Iterable<string>): string {
  return [...uris].join(", ");
}

function tooMuch(header: string, problem: string, maximum: number): A2AError {
  return new A2AError("InvalidParams", `${header} must not ${problem}`, {
    field: header,
    details: { header, maximum: String(maximum) },
  });
}
