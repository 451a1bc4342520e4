import { invalidParams } from "../errors.ts";

/** RFC 9110 §5.6.2: what the name of a header, or of an authentication scheme, is made of. */
export function isHttpToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** Refuses what no header can carry: a line break would end the header and begin another. */
export function checkHeaderText(text: string, field: string): void {
  if (/^[\u0020-\u007E\u00A0-\u00FF]*$/.test(text)) return;
  throw invalidParams(
    field,
    "must not contain line breaks, other control characters or characters beyond Latin-1, " +
      "because it is sent as a header",
  );
}
