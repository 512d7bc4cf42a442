import { stat } from 'node:fs/promises'
import path from 'node:path'
import { ImageError } from './image-error.ts'
import type { TarEntry } from './tar.ts'

/** One thing in an image, at an absolute path. */
export type ImageFile = { path: string } & (
  | { from: string; mode?: number }
  | { content: string; mode?: number }
  | { linkTo: string }
  | { directory: true; mode?: number }
)

/** An entry of the image's layer and where its bytes come from. */
export interface LayerEntry {
  entry: TarEntry
  /** A file of this machine, or the bytes themselves. */
  bytes: { from: string } | { content: Uint8Array }
}

const noBytes = { content: new Uint8Array() }

/**
 * The layer that a file list makes: sorted, with the folders that lead to each file, owned by root and without times, so that the
 * same files give the same layer. Throws ImageError `IMAGE_FILE_LIST` when a path is relative or named twice.
 */
export async function planLayer(files: ImageFile[]): Promise<LayerEntry[]> {
  const planned = new Map<string, LayerEntry>()
  for (const file of files) {
    const name = pathInLayer(file.path)
    if (planned.has(name)) throw new ImageError('IMAGE_FILE_LIST', `the file list names /${name} twice`)
    planned.set(name, await layerEntry(name, file))
  }
  for (const name of [...planned.keys()]) {
    for (let above = path.posix.dirname(name); above !== '.'; above = path.posix.dirname(above)) {
      if (planned.has(above)) continue
      planned.set(above, { entry: { path: above, type: 'directory', mode: 0o755, size: 0 }, bytes: noBytes })
    }
  }
  return [...planned.values()].sort((a, b) => (a.entry.path < b.entry.path ? -1 : 1))
}

function pathInLayer(name: string): string {
  if (/^\/.*[^/]$/.test(name) && path.posix.normalize(name) === name) return name.slice(1)
  throw new ImageError('IMAGE_FILE_LIST', `"${name}" is no plain absolute path`, {
    hint: 'write it as /folder/file',
  })
}

async function layerEntry(name: string, file: ImageFile): Promise<LayerEntry> {
  if ('linkTo' in file) {
    return {
      entry: { path: name, type: 'symlink', mode: 0o777, size: 0, linkTo: file.linkTo },
      bytes: noBytes,
    }
  }
  if ('directory' in file) {
    return { entry: { path: name, type: 'directory', mode: file.mode ?? 0o755, size: 0 }, bytes: noBytes }
  }
  if ('content' in file) {
    const content = Buffer.from(file.content)
    return {
      entry: { path: name, type: 'file', mode: file.mode ?? 0o644, size: content.length },
      bytes: { content },
    }
  }
  const { size, mode } = await stat(file.from)
  return {
    entry: { path: name, type: 'file', mode: file.mode ?? (mode & 0o111 ? 0o755 : 0o644), size },
    bytes: { from: file.from },
  }
}
