/** The entries of a list that is separated by commas; empty ones are none. */
export function commaList(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}
