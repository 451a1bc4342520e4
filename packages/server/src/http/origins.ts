/** Any scheme, because apps of desktops and telephones have their own. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/;

/** Origins as browsers send them. A mistake is found now, and not when a page is refused. */
export function checkedOrigins(origins: readonly string[]): readonly string[] {
  return origins.map((given) => {
    const origin = given.trim().toLowerCase();
    if (origin === "*") return origin;
    if (!ORIGIN.test(origin) || !URL.canParse(origin)) throw notAnOrigin(given);
    // A port that goes without saying is never sent, and names are sent in ASCII.
    return /^https?:/.test(origin) ? new URL(origin).origin : origin;
  });
}

function notAnOrigin(given: string): TypeError {
  const { origin } = URL.canParse(given) ? new URL(given) : { origin: "null" };
  const hint = origin === "null" ? '"https://app.example" or "*"' : JSON.stringify(origin);
  return new TypeError(
    `${JSON.stringify(given)} is not the origin of a web page, as in ${hint} (cors.origins)`,
  );
}
