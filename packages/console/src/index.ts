export { type ConsoleFile, type ConsoleFiles, openConsoleFiles } from "./console-files.ts";
