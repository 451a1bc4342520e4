import { DataFolderTree } from "./data-folder-tree.ts";
import { DatabaseTree } from "./database-tree.ts";
import type { StoreTree } from "./store.ts";

/** @param place a data folder, or the address of a Postgres database */
export function openTree(place: string): StoreTree {
  return /^postgres(?:ql)?:/.test(place) ? new DatabaseTree(place) : new DataFolderTree(place);
}
