import type { SourceFolder } from './source-folder.ts'

/** Counts the folders that something is held in, each once. */
export class HeldFolders {
  readonly #holds = new Map<SourceFolder, number>()

  get count(): number {
    return this.#holds.size
  }

  hold(folder: SourceFolder | undefined): void {
    if (folder !== undefined) this.#holds.set(folder, (this.#holds.get(folder) ?? 0) + 1)
  }

  release(folder: SourceFolder | undefined): void {
    if (folder === undefined) return
    const holds = (this.#holds.get(folder) ?? 0) - 1
    if (holds > 0) this.#holds.set(folder, holds)
    else this.#holds.delete(folder)
  }
}
