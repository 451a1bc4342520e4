/** Names that belong to owners, each with what is known of it. They outlive their tasks. */
export class OwnedNames<Fact> {
  readonly #byOwner = new Map<string, Map<string, Fact>>();

  get(owner: string, name: string): Fact | undefined {
    return this.#byOwner.get(owner)?.get(name);
  }

  set(owner: string, name: string, fact: Fact): void {
    const names = this.#byOwner.get(owner) ?? new Map<string, Fact>();
    this.#byOwner.set(owner, names.set(name, fact));
  }

  /** Frees what may be forgotten, oldest first. Returns how many those are. */
  forget(
    limit: number,
    rule: {
      readonly isForgettable: (fact: Fact) => boolean;
      readonly timeOf: (fact: Fact) => number;
    },
  ): number {
    const forgotten = [...this.#all()]
      .filter(({ fact }) => rule.isForgettable(fact))
      .toSorted((left, right) => rule.timeOf(left.fact) - rule.timeOf(right.fact))
      .slice(0, limit);
    for (const { owner, name } of forgotten) this.#free(owner, name);
    return forgotten.length;
  }

  clear(): void {
    this.#byOwner.clear();
  }

  *#all(): Iterable<{ readonly owner: string; readonly name: string; readonly fact: Fact }> {
    for (const [owner, names] of this.#byOwner) {
      for (const [name, fact] of names) yield { owner, name, fact };
    }
  }

  #free(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    names?.delete(name);
    if (names?.size === 0) this.#byOwner.delete(owner);
  }
}
