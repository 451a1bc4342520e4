import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { signIns } from "./session.ts";

/** Something that is read from the server. `value` stays while it is loaded again. */
export interface Resource<Value> {
  readonly value: Value | undefined;
  readonly problem: Error | undefined;
  /** For `data-status`, which tells tests and other programs what they see. */
  readonly status: "loading" | "ready" | "stale" | "error";
  readonly reload: () => void;
}

/** Loads something, and again when one of the dependencies changes or the visitor signs in. */
export function useResource<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  dependencies: readonly unknown[],
): Resource<Value> {
  const [value, setValue] = useState<Value>();
  const [problem, setProblem] = useState<Error>();
  const [isLoading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    setLoading(true);
    latest
      .current(abort.signal)
      .then((loaded) => {
        if (abort.signal.aborted) return;
        setValue(loaded);
        setProblem(undefined);
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) setProblem(error as Error);
      })
      .finally(() => {
        if (!abort.signal.aborted) setLoading(false);
      });
    return () => abort.abort();
  }, [...dependencies, round, signIns.value]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const status = problem
    ? "error"
    : value === undefined
      ? "loading"
      : isLoading
        ? "stale"
        : "ready";
  return { value, problem, status, reload };
}
