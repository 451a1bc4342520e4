import { createRequire } from "node:module";
import type * as Rx from "rxjs";

const require = createRequire(import.meta.url);

/**
 * RxJS, loaded with the first Observable. Importing this package must not load it: agents that are
 * served never need it, and it takes longer to load than everything else here.
 */
export function loadRxjs(): typeof Rx {
  return require("rxjs") as typeof Rx;
}
