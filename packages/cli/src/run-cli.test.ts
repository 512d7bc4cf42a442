import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { runCli } from './run-cli.ts'
import { clientConfigPath } from './settings/client-config.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'lateen-run-'))
after(() => rm(folder, { recursive: true }))

async function cli(args: string[], around: { env?: Record<string, string>; signal?: AbortSignal } = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const status = await runCli(args, {
    program: 'lateen',
    env: around.env ?? {},
    home: folder,
    stdin: Readable.from([]),
    stdout,
    stderr,
    signal: around.signal ?? new AbortController().signal,
    clock: { now: () => 0, sleep: () => Promise.resolve() },
  })
  return { status, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

describe('runCli', () => {
  it('prints help to stdout and succeeds', async () => {
    const { status, stdout, stderr } = await cli(['backup-location', 'set', '--help'])
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /Usage:\n {2}lateen backup-location set NAME \[flags\]\n/)
    assert.match(stdout, /--credential KEY=VALUE/)
    assert.match(stdout, /-n, --namespace TEXT/)
  })

  it('prints the version of the client without a cluster', async () => {
    const { status, stdout } = await cli(['version', '--client-only'])
    assert.equal(status, 0)
    assert.match(stdout, /^Client:\n\tVersion: v\d+\.\d+\.\d+\n\tGit commit: \S+\n$/)
  })

  it('fails with one line on stderr', async () => {
    const { status, stdout, stderr } = await cli(['backup-location', 'create', 'a', '--provider=aws'])
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(stderr, /^An error occurred: --bucket is required [^\n]*\n$/)
  })

  it('adds the stack only when asked to', async () => {
    const { stderr } = await cli(['nonsense'], { env: { LATEEN_DEBUG: '1' } })
    assert.match(stderr, /^An error occurred: unknown command 'nonsense'.*\nCliError: .*\n +at /)
  })

  it('says that the client configuration is broken, whatever the command', async () => {
    await mkdir(path.dirname(clientConfigPath(folder)), { recursive: true })
    await writeFile(clientConfigPath(folder), '{"namespace":')
    for (const args of [
      ['client', 'config', 'get'],
      ['client', 'config', 'set', 'a=b'],
      ['backup-location', 'get'],
    ]) {
      const { status, stderr } = await cli(args)
      assert.equal(status, 1)
      assert.match(
        stderr,
        /^An error occurred: the client configuration \S+config\.json is broken: .*repair or delete.*\n$/,
      )
    }
    await rm(clientConfigPath(folder))
  })

  it('ends without a word when it was interrupted', async () => {
    const signal = AbortSignal.abort()
    const { status, stdout, stderr } = await cli(['backup-location', 'delete', 'a'], { signal })
    assert.equal(status, 130)
    assert.equal(stderr, '')
    assert.doesNotMatch(stdout, /deleted/)
  })
})
