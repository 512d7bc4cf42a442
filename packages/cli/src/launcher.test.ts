import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'

const bin = path.resolve(import.meta.dirname, '../bin')
const lateen = path.join(bin, 'lateen.js')
const oldNode = findOldNode()
const withoutOldNode = oldNode === '' && 'no Node older than 24 on PATH'

function findOldNode(): string {
  const folders = ['/usr/bin', '/usr/local/bin', ...(process.env.PATH ?? '').split(path.delimiter)]
  for (const folder of folders) {
    const node = path.join(folder, 'node')
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    if (/^v(1[6-9]|2[0-3])\./.test(stdout ?? '')) return node
  }
  return ''
}

function run(node: string, ...args: string[]) {
  return spawnSync(node, args, { encoding: 'utf8' })
}

describe('the launcher', () => {
  it('runs in place under a Node that is new enough', () => {
    const { status, stdout, stderr } = run(process.execPath, lateen, '--help')
    assert.equal(stderr, '')
    assert.equal(status, 0)
    assert.match(stdout, /Usage:\n {2}lateen COMMAND/)
  })

  it('runs lateen-repo in place too', () => {
    const { status, stdout, stderr } = run(process.execPath, path.join(bin, 'lateen-repo.js'), '--help')
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /^Usage: lateen-repo COMMAND/m)
  })
})

describe('the launcher under an old Node', { skip: withoutOldNode }, () => {
  it('starts the Node of the checkout and passes on output and exit code', () => {
    const help = run(oldNode, lateen, '--help')
    assert.deepEqual([help.status, help.stderr], [0, ''])
    assert.match(help.stdout, /Usage:\n {2}lateen COMMAND/)
    const failure = run(oldNode, lateen, 'nonsense')
    assert.equal(failure.status, 1)
    assert.equal(failure.stderr, "An error occurred: unknown command 'nonsense' (add '--help' for usage)\n")
    assert.equal(run(oldNode, path.join(bin, 'lateen-repo.js'), 'nonsense').status, 2)
  })
})

describe('the launcher in a checkout of its own', { skip: withoutOldNode }, () => {
  let root = ''
  let copy = ''

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'lateen-launcher-'))
    copy = path.join(root, 'packages/cli/bin')
    await cp(bin, copy, { recursive: true })
    await mkdir(path.join(root, 'packages/cli/src'))
    await writeFile(path.join(root, 'packages/cli/package.json'), '{"type":"module"}')
    await writeFile(
      path.join(root, 'packages/cli/src/main.ts'),
      `process.on(process.argv[2] as NodeJS.Signals, () => process.exit(7))
       setTimeout(() => {}, 60_000)
       process.stdout.write('ready')`,
    )
  })
  after(() => rm(root, { recursive: true }))

  async function bringNode(version: string): Promise<void> {
    const folder = path.join(root, 'node_modules/node')
    await rm(folder, { recursive: true, force: true })
    await mkdir(path.join(folder, 'bin'), { recursive: true })
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ version }))
    await symlink(process.execPath, path.join(folder, 'bin/node'))
  }

  it('says which Node is needed and how to get it when there is none', () => {
    const { status, stderr } = run(oldNode, path.join(copy, 'lateen.js'))
    assert.equal(status, 1)
    assert.match(stderr, /^lateen needs Node\.js 24 or newer, and this is v.*: run "npm ci" in .*\n$/)
    assert.ok(stderr.includes(root))
  })

  it('does not start a package that is too old itself', async () => {
    await bringNode('22.0.0')
    assert.match(run(oldNode, path.join(copy, 'lateen.js')).stderr, /needs Node\.js 24/)
  })

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    it(`passes ${signal} on and exits as the program does`, async () => {
      await bringNode('24.0.0')
      const child = spawn(oldNode, [path.join(copy, 'lateen.js'), signal], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      child.kill(signal)
      assert.deepEqual(await once(child, 'exit'), [7, null])
    })
  }

  it('dies of the signal that the program died of', async () => {
    await bringNode('24.0.0')
    const child = spawn(oldNode, [path.join(copy, 'lateen.js'), 'SIGUSR2'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM'])
  })
})
