/** The person wants to stop; there is nothing to explain. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
