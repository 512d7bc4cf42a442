import { createHash } from 'node:crypto'
import { glob, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gitCommit } from '../../packages/cli/src/build-info.ts'
import { cacheFolder } from '../binaries/cache-folder.ts'
import { withMachineLock } from '../binaries/machine-lock.ts'
import { type Bundle, bundleLateen } from './bundle.ts'

const root = path.join(import.meta.dirname, '..', '..')

/** What a bundle is made of. */
const sources = ['package-lock.json', 'packages/*/package.json', 'packages/*/src/**/*.ts', 'tools/bundle/*']

/** Those of other branches, and of what others do beside us. */
const KEPT = 8

/**
 * The bundle of this checkout as it is now, made only when no earlier one was made of the same sources. Its files stay where they are:
 * copy them, and change nothing. Throws what `bundleLateen` throws.
 */
export async function cachedBundle(): Promise<Bundle> {
  const bundles = path.join(cacheFolder(), 'bundles')
  const folder = path.join(bundles, await keyOfSources())
  return withMachineLock(path.join(bundles, 'lock'), async () => {
    const known = await readBundle(folder)
    if (known !== undefined) return known
    const made = `${folder}.${process.pid}`
    const bundle = await bundleLateen(made)
    await rm(folder, { recursive: true, force: true })
    await rename(made, folder)
    const files = bundle.files.map(file => ({ ...file, from: path.join(folder, file.path) }))
    await writeFile(`${folder}.json`, JSON.stringify({ ...bundle, files }))
    await forgetOld(bundles)
    return { ...bundle, files }
  })
}

async function readBundle(folder: string): Promise<Bundle | undefined> {
  try {
    const bundle = JSON.parse(await readFile(`${folder}.json`, 'utf8')) as Bundle
    for (const { from } of bundle.files) await stat(from)
    const now = new Date()
    await utimes(`${folder}.json`, now, now)
    return bundle
  } catch {
    return undefined
  }
}

async function keyOfSources(): Promise<string> {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([process.version, process.arch, await gitCommit(root)]))
  const files: string[] = []
  for await (const file of glob(sources, { cwd: root })) if (!file.endsWith('.test.ts')) files.push(file)
  for (const file of files.sort((a, b) => (a < b ? -1 : 1)))
    hash
      .update(file)
      .update('\0')
      .update(await readFile(path.join(root, file)))
  return hash.digest('hex').slice(0, 24)
}

async function forgetOld(bundles: string): Promise<void> {
  const names = await readdir(bundles)
  const descriptions = names.filter(name => name.endsWith('.json'))
  const aged = await Promise.all(
    descriptions.map(async name => ({ name, used: (await stat(path.join(bundles, name))).mtimeMs })),
  )
  const old = aged.sort((a, b) => b.used - a.used).slice(KEPT)
  for (const { name } of old) await rm(path.join(bundles, name))
  // Also what was interrupted.
  const kept = new Set(aged.slice(0, KEPT).flatMap(({ name }) => [name, path.basename(name, '.json')]))
  for (const name of names) {
    if (name !== 'lock' && !kept.has(name))
      await rm(path.join(bundles, name), { recursive: true, force: true })
  }
}
