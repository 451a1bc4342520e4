// What people test their agents with.
export { type Answer, type SayOptions, say } from "./say.ts";
