import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { littleMemory } from '../image/lateen-image.ts'
import { type Bundle, bundleLateen } from './bundle.ts'
import { clusterWith, kubeconfigOf } from './compile-program.ts'

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

  it('lists what a cluster has', async () => {
    await using cluster = await clusterWith([])
    const kubeconfig = path.join(folder, 'empty-cluster')
    await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(cluster.url)))
    const list = JSON.parse(await lateen('backup', 'get', '-o', 'json', '--kubeconfig', kubeconfig))
    assert.deepEqual(list.items, [])
  })

  it('brings compiled code that this Node takes, as it is and with the settings of the image', async () => {
    const parts = ['program', 'server-program'].map(name => path.join(folder, 'moved', name))
    const check = `
      const script = new (require('node:vm').Script)(require('node:fs').readFileSync(process.argv[1], 'latin1'), {
        filename: process.argv[1], cachedData: require('node:fs').readFileSync(process.argv[2]) })
      process.stdout.write(String(script.cachedDataRejected))`
    for (const part of parts) {
      for (const env of [{}, littleMemory]) {
        const words = ['-e', check, `${part}.cjs`, `${part}.code`]
        const ran = await promisify(execFile)(process.execPath, words, { env })
        assert.equal(ran.stdout, 'false', `${part} ${JSON.stringify(env)}`)
      }
    }
  })

  it('runs without compiled code, and with some that is damaged', async () => {
    const copy = path.join(folder, 'copy')
    await cp(path.join(folder, 'moved'), copy, { recursive: true })
    for (const spoil of [
      () => writeFile(path.join(copy, 'program.code'), 'no code'),
      () => rm(path.join(copy, 'program.code')),
    ]) {
      await spoil()
      const args = [path.join(copy, bundle.entry), 'version', '--client-only']
      const { stdout } = await promisify(execFile)(process.execPath, args, { env: { HOME: copy } })
      assert.match(stdout, /Version: v/)
    }
  })

  it('is ASCII, as the launcher reads it, and understands other characters nevertheless', async () => {
    for (const name of ['program.cjs', 'server-program.cjs']) {
      assert.ok(
        (await readFile(path.join(folder, 'moved', name))).every(byte => byte < 0x80),
        name,
      )
    }
    const create = (ttl: string) => lateen('backup', 'create', 'one', `--ttl=${ttl}`)
    await assert.rejects(create('5µs'), /no kubeconfig found/)
    await assert.rejects(create('5ßs'), /--ttl/)
  })

  it('has one copy of what server and command line tell errors by', async () => {
    const [program, server] = await Promise.all(
      ['program.cjs', 'server-program.cjs'].map(name => readFile(path.join(folder, 'moved', name), 'utf8')),
    )
    // Classes have short names in the bundle; the one that errors show is set in them.
    const defined = /class extends Error\{static\{\w+\(this,"KubeError"\)\}/
    assert.ok(defined.test(program ?? ''))
    assert.ok(!defined.test(server ?? ''))
    assert.ok(server?.includes('require("./lateen.cjs").kube'))
  })

  it('asks credential plugins, for which it loads what is beside it', async () => {
    const kubeconfig = path.join(folder, 'kubeconfig')
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/no/such/plugin',
      interactiveMode: 'Never',
    }
    const config = kubeconfigOf('https://127.0.0.1:1', { exec })
    await writeFile(kubeconfig, JSON.stringify(config))
    await assert.rejects(
      lateen('backup', 'get', '--kubeconfig', kubeconfig),
      /the credential plugin "\/no\/such\/plugin" .* failed/,
    )
  })

  it('loads the server when it is asked to be one', async () => {
    await assert.rejects(lateen('server', '--log-level=nonsense'), /log-level/)
    const kubeconfig = path.join(folder, 'nowhere')
    await assert.rejects(
      lateen('server', '--kubeconfig', kubeconfig),
      /server starting[\s\S]*nowhere|nowhere/,
    )
  })

  it('waits for restores by its helper', async () => {
    await assert.rejects(run(bundle.restoreHelperEntry, []), /usage: velero-restore-helper RESTORE-UID/)
    await assert.rejects(run(bundle.restoreHelperEntry, ['../x']), /"\.\.\/x" is no uid of a restore/)
  })

  it('uploads a folder with threads, and reads it back with threads, to the nanosecond', async () => {
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
    const timeIn = async (tree: string) => (await stat(path.join(tree, 'large'), { bigint: true })).mtimeNs
    assert.equal(await timeIn(target), await timeIn(source))
  })
})
