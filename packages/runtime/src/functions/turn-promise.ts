/**
 * What waits for a promise of the turn: so that a question that has lost a race can be withdrawn, and
 * so that a failure that nothing waits for does not get lost.
 */
export class Takers {
  readonly name: string;
  readonly #settled: WeakSet<object>;
  readonly #settlers: (readonly unknown[])[] = [];
  #awaits = 0;
  /** Whether the promise was rejected. */
  hasFailed = false;
  /** Called when something waits for the promise of a question that was withdrawn. */
  onTaken: (() => void) | undefined;

  /** @param settled the functions that have settled a promise: if they are called again, nothing happens */
  constructor(name: string, settled: WeakSet<object>) {
    this.name = name;
    this.#settled = settled;
  }

  get isTaken(): boolean {
    return this.#awaits > 0 || this.#settlers.length > 0;
  }

  /** Whether what waits for it has been settled by something else. */
  get areSettled(): boolean {
    const isSettled = (settlers: readonly unknown[]): boolean =>
      settlers.some((settle) => typeof settle === "function" && this.#settled.has(settle));
    return this.#awaits === 0 && this.#settlers.length > 0 && this.#settlers.every(isSettled);
  }

  /** The promise was fulfilled or rejected, which settles what waits for it. */
  settle(state: "fulfilled" | "rejected"): void {
    for (const settlers of this.#settlers) {
      const settle = settlers[state === "fulfilled" ? 0 : 1];
      if (isSettler(settle)) this.#settled.add(settle);
    }
  }

  /** `await` and `Promise.race` read the constructor of a promise first. */
  addAwait(): void {
    this.#awaits += 1;
    this.onTaken?.();
  }

  /** @param settlers what a `then` was called with */
  addThen(settlers: readonly unknown[]): void {
    // `Promise.race` has read the constructor, too, but it does not wait in that way.
    if (settlers.every(isSettler)) this.#awaits = Math.max(0, this.#awaits - 1);
    this.#settlers.push(settlers);
    this.onTaken?.();
  }

  removeAwait(): void {
    this.#awaits -= 1;
  }
}

/** Whether it resolves or rejects a promise, as those that `Promise.race` passes to `then`. */
function isSettler(value: unknown): value is () => void {
  if (typeof value !== "function" || value.name !== "") return false;
  return Function.prototype.toString.call(value) === "function () { [native code] }";
}

/**
 * The promise of a step or a wait. It throws where it would become a text: a forgotten `await` is an
 * error that says so, instead of "[object Promise]" in the answer. Its rejection cannot end the process.
 */
export class TurnPromise<T> extends Promise<T> {
  readonly takers: Takers;

  constructor(takers: Takers, promise: Promise<T>) {
    super((resolve, reject) => void promise.then(resolve, reject));
    this.takers = takers;
    // Marks its rejection as handled.
    void plainThen(this, [undefined, () => undefined]);
  }

  /** A derived promise is a plain one. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  [Symbol.toPrimitive](): never {
    return this.#forgotten();
  }

  toJSON(): never {
    return this.#forgotten();
  }

  #forgotten(): never {
    const { name } = this.takers;
    throw new TypeError(`${name}(…) returns a promise: write await ${name}(…)`);
  }
}

function plainThen<T>(
  promise: TurnPromise<T>,
  settlers: Parameters<Promise<T>["then"]>,
): Promise<unknown> {
  const derived = Promise.prototype.then.apply(promise, settlers);
  // `then` has read the constructor.
  promise.takers.removeAwait();
  return derived;
}

function define(
  name: string,
  descriptor: ThisType<TurnPromise<unknown>> & PropertyDescriptor,
): void {
  void Object.defineProperty(TurnPromise.prototype, name, descriptor);
}

// `await` does not call `then`. It reads the constructor, if the promise has another prototype.
define("constructor", {
  get() {
    this.takers.addAwait();
    return Promise;
  },
});

define("then", {
  value(...settlers: Parameters<Promise<unknown>["then"]>) {
    this.takers.addThen(settlers);
    return plainThen(this, settlers);
  },
});
