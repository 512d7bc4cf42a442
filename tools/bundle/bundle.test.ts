import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { type Bundle, bundleLateen } from './bundle.ts'

const folder = await mkdtemp(path.join(os.tmpdir(), 'lateen-bundle-'))
after(() => rm(folder, { recursive: true }))
const bundle = await moved(await bundleLateen(path.join(folder, 'built')))

/** Elsewhere than it was built, so that no path of the checkout can help it. */
async function moved(built: Bundle): Promise<Bundle> {
  await mkdir(path.join(folder, 'empty'))
  await rename(path.join(folder, 'built'), path.join(folder, 'moved'))
  return built
}

function lateen(...args: string[]): Promise<string> {
  return run(bundle.entry, args)
}

async function run(entry: string, args: string[]): Promise<string> {
  const cwd = path.join(folder, 'empty')
  const program = path.join(folder, 'moved', entry)
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
    cwd,
    env: { HOME: cwd },
  })
  return stdout
}

describe('the bundle', () => {
  it('shows its help from an empty folder', async () => {
    assert.match(await lateen('--help'), /backup-location/)
  })

  it('knows its version', async () => {
    assert.match(await lateen('version', '--client-only'), new RegExp(`Version: v${bundle.version}`))
  })

  it('prints the manifests of an installation, which it loads lazily', async () => {
    const manifests = await lateen('install', '--crds-only', '--dry-run', '-o', 'yaml')
    assert.match(manifests, /kind: CustomResourceDefinition/)
  })

  it('uploads a folder with threads, and reads it back with threads', async () => {
    const [source, target] = [path.join(folder, 'source'), path.join(folder, 'restored')]
    const passwordFile = path.join(folder, 'password')
    const bytes = randomBytes(20 << 20)
    await mkdir(source)
    await writeFile(path.join(source, 'large'), bytes)
    for (let file = 0; file < 600; file += 1) await writeFile(path.join(source, `small-${file}`), `${file}`)
    await writeFile(passwordFile, 'secret')
    const repository = ['--repo', `file://${path.join(folder, 'repo')}`, '--password-file', passwordFile]
    const repo = (...args: string[]) => run(bundle.repoEntry, [...args, ...repository])
    await repo('create')
    const { id } = JSON.parse(await repo('snapshot', source, '--json')) as { id: string }
    await repo('restore', id, target)
    assert.ok((await readFile(path.join(target, 'large'))).equals(bytes))
    assert.equal(await readFile(path.join(target, 'small-599'), 'utf8'), '599')
  })
})
