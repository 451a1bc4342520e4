import { A2AError } from "@convoke/protocol";

/** The outcome: the result, or an error that callers may get. */
export async function outcomeOf<T>(work: Promise<T>): Promise<T | A2AError> {
  try {
    return await work;
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
}
