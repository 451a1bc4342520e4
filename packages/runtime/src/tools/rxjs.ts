import { createRequire } from "node:module";
import type * as Rx from "rxjs";

const require = createRequire(import.meta.url);

/**
 * Loads RxJS when the first Observable is used. Importing this package must not load it: served
 * agents never need it, and it takes longer to load than everything else here.
 */
export function loadRxjs(): typeof Rx {
  return require("rxjs") as typeof Rx;
}
