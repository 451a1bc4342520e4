import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

// For `--import`: writes the URL of every module that the process loads to the file MODULES.

registerHooks({
  load: (url, context, next) => {
    appendFileSync(process.env["MODULES"]!, `${url}\n`);
    return next(url, context);
  },
});
