import { ModelError } from "../../model/model-error.ts";

/**
 * Loads a package that is only there when somebody wants it. The import itself
 * stays with the caller, so that bundlers and type checks can follow it.
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new ModelError(
      "refused",
      `the package ${name} is not installed; run: npm install ${name}`,
      { cause },
    );
  }
}

/** Whether the package itself is not there, rather than something it needs. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && error.message.includes(`'${name}'`);
}
