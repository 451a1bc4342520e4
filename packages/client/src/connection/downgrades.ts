import type { ChosenInterface } from "../choose-interface.ts";

/** The interfaces, and after them each address of 1.0 once more with 0.3, which has no tenants. */
export function withDowngrades(candidates: readonly ChosenInterface[]): readonly ChosenInterface[] {
  const older = candidates
    .filter(({ version }) => version === "1.0")
    .map(({ url, binding }): ChosenInterface => ({ url, binding, version: "0.3" }));
  const isListed = (one: ChosenInterface) =>
    candidates.some(
      (other) =>
        other.version === one.version && other.url === one.url && other.binding === one.binding,
    );
  return [...candidates, ...older.filter((one) => !isListed(one))];
}
