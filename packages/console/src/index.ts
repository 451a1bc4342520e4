export { openConsoleFiles } from "./console-files.ts";
