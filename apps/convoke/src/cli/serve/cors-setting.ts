import { type CorsOptions, checkedOrigins } from "@convoke/server";
import { commaList } from "./comma-list.ts";
import { StartError } from "./start-error.ts";

/** Which web pages may call. */
export function readCors(value: string | undefined): CorsOptions {
  try {
    return { origins: checkedOrigins(commaList(value)) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const problem = error.message.replace(" (cors.origins)", "");
    throw new StartError(`CONVOKE_CORS_ORIGINS: ${problem}.`, { cause: error });
  }
}
