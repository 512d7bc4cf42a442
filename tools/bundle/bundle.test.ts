import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
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

async function lateen(...args: string[]): Promise<string> {
  const cwd = path.join(folder, 'empty')
  const program = path.join(folder, 'moved', bundle.entry)
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
})
