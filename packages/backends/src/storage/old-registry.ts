/**
 * What is left of the registry of agents that earlier versions had. Nothing reads its entries any
 * more. They stay until the operator deletes them, and until then they can be erased.
 */
export interface OldRegistry {
  /** Where entries are, and the line that deletes them. `undefined` if there are none. */
  find(): Promise<{ readonly place: string; readonly deletedBy: string } | undefined>;
  /** Erases the entries of an owner, and what it has reported about those of others. */
  erase(owner: string): Promise<void>;
}

/** The JSON of an entry without the reports of an owner. `undefined` if it has none. */
export function withoutReports(json: string, owner: string): string | undefined {
  const { reports, ...entry } = JSON.parse(json) as { readonly reports?: object };
  if (reports === undefined || !Object.hasOwn(reports, owner)) return undefined;
  const left = Object.entries(reports).filter(([reporter]) => reporter !== owner);
  return JSON.stringify({ ...entry, reports: Object.fromEntries(left) });
}
