import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'

const runner = path.join(import.meta.dirname, 'run.ts')

interface Outcome {
  code: number | null
  out: string
  err: string
}

interface How {
  /** Where the test file stands, and what is run; a unit test unless told otherwise. */
  file?: string
  args?: string[]
  onOutput?(pid: number): void
  /** How long what is still open after the tests has to end. */
  graceSeconds?: number
}

/** Runs the runner over one test file. Outside of this test run's context, or node:test would report to it. */
async function runOver(source: string, how: How = {}): Promise<Outcome> {
  const { file = 'tools/one.test.ts', args = ['--unit'], onOutput = () => {}, graceSeconds = 20 } = how
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-test-run-'))
  await mkdir(path.join(folder.path, path.dirname(file)), { recursive: true })
  await writeFile(path.join(folder.path, file), source)
  const { NODE_TEST_CONTEXT: _, LATEEN_RUN_SEED: _seed, ...inherited } = process.env
  // With a cluster from elsewhere, none is started for a test file that only stands where those that need one do.
  const env = {
    ...inherited,
    LATEEN_TEST_GRACE_SECONDS: String(graceSeconds),
    LATEEN_TEST_KUBECONFIG: 'elsewhere',
  }
  const child = spawn(process.execPath, [runner, '--root', folder.path, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  child.stdout.once('data', () => onOutput(child.pid ?? 0))
  const [code, out, err] = await Promise.all([closed, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}

describe('the test runner', () => {
  it('passes with the summary of node --test as the last thing printed', async () => {
    const { code, out } = await runOver("import { it } from 'node:test'\nit('holds', () => {})")
    assert.equal(code, 0)
    assert.match(out, /ℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms [\d.]+\n$/)
  })

  it('fails when a test fails', async () => {
    const { code, out } = await runOver(
      "import { it } from 'node:test'\nit('breaks', () => { throw new Error('so') })",
    )
    assert.equal(code, 1)
    assert.match(out, /ℹ fail 1/)
  })

  it('shows skipped tests as skipped, with the reason', async () => {
    const { out } = await runOver(
      "import { it } from 'node:test'\nit('waits', { skip: 'no cluster' }, () => {})",
    )
    assert.match(out, /waits .*# no cluster/)
    assert.match(out, /ℹ skipped 1/)
  })

  it('fails when nothing matches, rather than passing without a test', async () => {
    const { code, err } = await runOver('', { args: ['--unit', '--only', 'no-such-file'] })
    assert.equal(code, 1)
    assert.match(err, /No test file matches no-such-file/)
  })

  it('fails a test that hangs, by name', async () => {
    const hang = "import { it } from 'node:test'\nit('hangs', () => new Promise(r => setTimeout(r, 60_000)))"
    const { code, out } = await runOver(hang, { args: ['--unit', '--timeout', '0.01'], graceSeconds: 0.1 })
    assert.equal(code, 1)
    assert.match(out, /✖ hangs/)
  })

  it('fails a file that leaves something open behind its tests, and says what', async () => {
    const leak = "import { it } from 'node:test'\nit('leaks', () => { setTimeout(() => {}, 60_000) })"
    const { code, out } = await runOver(leak, { graceSeconds: 0.1 })
    assert.equal(code, 1)
    assert.match(out, /still open 0.1 s after the last test: .*Timeout/)
  })

  it('gives a file the time that it needs to clean up after its tests', async () => {
    const slow =
      "import { after, it } from 'node:test'\nit('holds', () => {})\nafter(() => new Promise(r => setTimeout(r, 11_000)))"
    const { code, out } = await runOver(slow, { graceSeconds: 10 })
    assert.equal(code, 0, out)
  })

  it('ends with its tests on SIGTERM', async () => {
    const hang =
      "import { it } from 'node:test'\nit('first', () => {})\nit('hangs', () => new Promise(r => setTimeout(r, 60_000)))"
    const { code } = await runOver(hang, { onOutput: pid => process.kill(pid, 'SIGTERM') })
    assert.notEqual(code, 0)
  })
})

describe('a second look', () => {
  const file = 'test/cluster/one.test.ts'
  // Fails the first time. Says its seed both times.
  const unsteady = `
    import { it } from 'node:test'
    import { existsSync, writeFileSync } from 'node:fs'
    it('is disturbed', () => {
      console.log('seed ' + process.env.LATEEN_RUN_SEED)
      if (existsSync('seen')) return
      writeFileSync('seen', '')
      throw new Error('so')
    })`

  it('passes a file that passes alone with the same seeds, and says that it is unsteady', async () => {
    const { code, out } = await runOver(unsteady, { file, args: [] })
    assert.equal(code, 0, out)
    assert.match(out, /UNSTEADY: .*\n {2}test\/cluster\/one\.test\.ts\n {4}✖ is disturbed\n/)
    const seeds = out.match(/seed \d+/g) ?? []
    assert.equal(seeds.length, 2)
    assert.equal(seeds[0], seeds[1])
  })

  it('fails a file that fails again', async () => {
    const broken = "import { it } from 'node:test'\nit('breaks', () => { throw new Error('so') })"
    const { code, out } = await runOver(broken, { file, args: [] })
    assert.equal(code, 1)
    assert.equal(out.match(/ℹ fail 1/g)?.length, 2, out)
    assert.doesNotMatch(out, /UNSTEADY/)
  })

  it('is not given to unit tests, nor to a run of some files, as soaks are', async () => {
    for (const how of [{ args: [] }, { file, args: ['--only', 'one'] }]) {
      const { code, out } = await runOver(unsteady, how)
      assert.equal(code, 1, out)
      assert.equal(out.match(/ℹ fail 1/g)?.length, 1, out)
    }
  })

  it('is given to a file that ends without a word', async () => {
    const dies = `import { existsSync, writeFileSync } from 'node:fs'
      if (!existsSync('seen')) { writeFileSync('seen', ''); process.exit(3) }`
    const { code, out } = await runOver(dies, { file, args: [] })
    assert.equal(code, 0, out)
    assert.match(out, /UNSTEADY/)
  })
})
