// A map and a set for values that come and go with every request. When V8 replaces the table of a
// `Map` or `Set`, the old table refers to the new one. Once an old table is in the old generation, all
// tables after it, and everything that was in them, survive each collection of the young generation,
// although they are garbage: with 32 requests at a time nearly every object of every request. Here,
// nothing refers to a value any more once it is removed.

/** A map whose removed values are garbage at once. */
export class ShortLivedMap<Value extends object> {
  readonly #slots = new Map<string, Slot<Value>>();

  get(key: string): Value | undefined {
    return this.#slots.get(key)?.value;
  }

  set(key: string, value: Value): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, { value });
    else slot.value = value;
  }

  delete(key: string): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    slot.value = undefined;
    this.#slots.delete(key);
  }

  clear(): void {
    for (const key of this.#slots.keys()) this.delete(key);
  }

  /** In the order in which the keys were added. */
  *values(): Generator<Value, void, undefined> {
    for (const { value } of this.#slots.values()) if (value !== undefined) yield value;
  }
}

interface Slot<Value> {
  value: Value | undefined;
}

/** A set whose removed values are garbage at once. A value can be in it several times. */
export class ShortLivedSet<Value extends object> {
  #first: Member<Value> | undefined;
  #last: Member<Value> | undefined;

  /** Adds a value. The result removes it. */
  add(value: Value): Member<Value> {
    const member: Member<Value> = { value, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    return member;
  }

  delete(member: Member<Value>): void {
    if (member.value === undefined) return;
    const { previous, next } = member;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.value = member.previous = member.next = undefined;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  clear(): void {
    for (const member of this.#members()) this.delete(member);
  }

  /**
   * Calls a function with each value, in the order in which they were added, except those that are removed
   * meanwhile. No iterator, because that costs more than what is done with most values.
   */
  forEach(use: (value: Value) => void): void {
    for (const { value } of this.#members()) if (value !== undefined) use(value);
  }

  #members(): readonly Member<Value>[] {
    const members: Member<Value>[] = [];
    for (let member = this.#first; member !== undefined; member = member.next) members.push(member);
    return members;
  }
}

/** A value in a set. Its fields are for the set only. */
export interface Member<Value> {
  value: Value | undefined;
  previous: Member<Value> | undefined;
  next: Member<Value> | undefined;
}
