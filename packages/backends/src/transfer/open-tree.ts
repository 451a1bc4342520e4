import { DataFolderTree } from "./data-folder-tree.ts";
import { DatabaseTree } from "./database-tree.ts";
import type { StoreTree } from "./store.ts";

/**
 * @param place a data folder, or the address of a Postgres database
 * @param files the folder that has the large files of a database. A data folder has its own.
 */
export function openTree(place: string, files?: string): StoreTree {
  const isDatabase = /^postgres(?:ql)?:/.test(place);
  return isDatabase ? new DatabaseTree(place, files) : new DataFolderTree(place);
}
