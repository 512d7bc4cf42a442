import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { CommandError, runCommand } from '../../tools/binaries/run-command.ts'
import type { VolumeMode } from './driver-state.ts'

/** Makes the content of an empty volume. */
export async function makeContent(target: string, { mode, bytes }: { mode: VolumeMode; bytes: number }) {
  if (mode === 'mount') return void (await mkdir(target, { mode: 0o777 }))
  await writeFile(target, '')
  await truncate(target, bytes)
}

/**
 * Copies the content of a volume or snapshot; blocks are shared where the file system can. A folder that is written to meanwhile is copied as it is found,
 * without what is deleted on the way: one instant for all of it there is only for blocks that are shared.
 */
export async function copyContent(from: string, to: string, mode: VolumeMode): Promise<void> {
  const sparse = mode === 'block' ? 'always' : 'auto'
  const args = ['--archive', '--reflink=auto', `--sparse=${sparse}`, '--no-target-directory', from, to]
  await runCommand('cp', args, { env: { ...process.env, LC_ALL: 'C' } }).catch((error: unknown) => {
    if (!(error instanceof CommandError && onlyVanished(error.stderr))) throw error
  })
}

/** Whether nothing is wrong but that files were deleted while they were copied. */
export function onlyVanished(stderr: string): boolean {
  const lines = stderr.split('\n').filter(Boolean)
  return lines.length > 0 && lines.every(line => line.endsWith(': No such file or directory'))
}
