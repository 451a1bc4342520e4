// Restores a checkpoint: restore-process.ts <root> <data folder> <id>. It reports that it is alive.
import { Checkpoints, Workspace } from "@convoke/coder";

const [root, folder, id] = process.argv.slice(2) as [string, string, string];
const workspace = await Workspace.open({ roots: [root] });
const checkpoints = await Checkpoints.open({ workspace, folder });
const beat = setInterval(() => process.send!("alive"), 1);
await checkpoints.restore(id);
clearInterval(beat);
process.send!("done");
process.disconnect();
