import fs, { constants } from 'node:fs'
import { errnoOf } from '../filesystem-error.ts'
import type { BlobData } from '../storage.ts'
import { close, fchown, fsync, link, open, rename, unlink } from './calls.ts'
import { giveAway, type Owner } from './owner.ts'

/** How files are written beside the name that they are to have. */
export interface TemporaryFileOptions {
  /** Whether the bytes are synced to disk before the file gets its name. */
  readonly durable: boolean
  /** For the names. */
  readonly randomBytes: (length: number) => Uint8Array
  /** Whom files are given to; whoever makes them keeps them when absent. */
  readonly owner?: Owner | undefined
}

const fileMode = 0o600

/** Writes a file beside its target and returns its name; leaves nothing behind when it fails. */
export async function writeTemporary(
  target: string,
  data: BlobData,
  { durable, randomBytes, owner }: TemporaryFileOptions,
): Promise<string> {
  const temporary = `${target}.tmp.${Buffer.from(randomBytes(8)).toString('hex')}`
  const fd = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, fileMode)
  try {
    try {
      if (owner !== undefined) await giveAway(() => fchown(fd, owner.uid, owner.gid))
      await writeAll(fd, data)
      if (durable) await fsync(fd)
    } finally {
      await close(fd)
    }
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  return temporary
}

/** Gives a file its name unless there is one of that name; where there are no hard links, replaces it. */
export async function linkOrRename(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'EEXIST') return
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error
    await rename(temporary, file)
  }
}

async function writeAll(fd: number, data: BlobData): Promise<void> {
  for (const piece of data instanceof Uint8Array ? [data] : data) await writePiece(fd, piece)
}

// With one call for a whole pack the kernel looks for memory in pieces of that size, and on virtual machines that took six
// times as long as all these calls.
const writtenAtOnce = 128 << 10

function writePiece(fd: number, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    let done = 0
    const goOn = (error: Error | null, written: number) => {
      done += written
      if (error) reject(error)
      else if (done >= piece.length) resolve()
      else fs.write(fd, piece, done, Math.min(writtenAtOnce, piece.length - done), null, goOn)
    }
    goOn(null, 0)
  })
}
