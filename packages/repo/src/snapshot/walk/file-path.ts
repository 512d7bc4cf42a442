import { bytesFromName } from '../name.ts'

/** A path to give to the file system: bytes where a name in it is not valid UTF-8. */
export type FilePath = string | Buffer

const separator = Buffer.from('/')

/** The path of a child of a folder. */
export function childFilePath(folder: FilePath, name: string): FilePath {
  if (typeof folder === 'string' && name.isWellFormed()) {
    return folder.endsWith('/') ? folder + name : `${folder}/${name}`
  }
  const bytes = typeof folder === 'string' ? bytesFromName(folder) : folder
  return Buffer.concat(
    bytes.at(-1) === 0x2f ? [bytes, bytesFromName(name)] : [bytes, separator, bytesFromName(name)],
  )
}

/** The path for messages. */
export function printFilePath(path: FilePath): string {
  return typeof path === 'string' ? path : path.toString('utf8')
}
