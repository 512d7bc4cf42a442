import { readFile } from 'node:fs/promises'
import path from 'node:path'
import manifest from '../package.json' with { type: 'json' }

/** The version of this program, with the `v` that Velero's versions have. */
export const version = `v${manifest.version}`

/** The bundler puts the commit in the place of this expression. */
const bundledCommit = (globalThis as { lateenCommit?: string }).lateenCommit

/** The commit that was bundled, or that of the checkout this runs from, or `unknown`. */
export async function gitCommit(folder = path.resolve(import.meta.dirname, '../../..')): Promise<string> {
  if (bundledCommit !== undefined) return bundledCommit
  const head = await read(path.join(folder, '.git', 'HEAD'))
  const ref = /^ref: (.+)$/.exec(head)?.[1]
  if (ref === undefined) return /^[0-9a-f]{40,64}$/.test(head) ? head : 'unknown'
  const loose = await read(path.join(folder, '.git', ref))
  if (loose !== '') return loose
  const packed = await read(path.join(folder, '.git', 'packed-refs'))
  return (
    packed
      .split('\n')
      .find(line => line.endsWith(` ${ref}`))
      ?.split(' ')[0] ?? 'unknown'
  )
}

async function read(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch {
    return ''
  }
}
