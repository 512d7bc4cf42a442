/**
 * The runner behind `npm test` and `npm run test:unit`:
 *
 *     node tools/test/run.ts [--unit] [--only <part of a path>]... [--concurrency N] [--timeout MINUTES] [--root FOLDER]
 *
 * A full run starts one cluster for all test files and stops it afterwards without a word, so that the summary of
 * `node --test` is the last thing printed. The exit code is that of `node --test`.
 */
import { spawn } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findTests, needsRealThings } from './find-tests.ts'
import { type SharedCluster, startIfNeeded } from './shared-cluster.ts'

const { values: flags } = parseArgs({
  options: {
    unit: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    concurrency: { type: 'string', default: '2' },
    timeout: { type: 'string', default: '15' },
    root: { type: 'string', default: path.join(import.meta.dirname, '..', '..') },
  },
})
const { root } = flags

process.exitCode = await main()

async function main(): Promise<number> {
  const files = await findTests(root, flags)
  if (files.length === 0) {
    console.error(`No test file matches ${flags.only.join(', ') || 'the patterns'} below ${root}`)
    return 1
  }
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(signal))
  }
  await using cluster = await startIfNeeded(files.some(needsRealThings), interrupted.signal)
  return interrupted.signal.aborted ? 130 : await runTests(files, cluster, interrupted.signal)
}

function runTests(files: string[], cluster: SharedCluster, interrupted: AbortSignal): Promise<number> {
  const args = [
    '--test',
    `--import=${path.join(import.meta.dirname, 'end-with-tests.ts')}`,
    '--test-reporter=spec',
    `--test-concurrency=${flags.concurrency}`,
    `--test-timeout=${Number(flags.timeout) * 60_000}`,
    ...files,
  ]
  const env = { ...process.env, ...cluster.env }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
  interrupted.addEventListener('abort', () => child.kill(interrupted.reason as NodeJS.Signals))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : os.constants.signals[signal])),
    )
  })
}
