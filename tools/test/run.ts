/**
 * The runner behind `npm test` and `npm run test:unit`:
 *
 *     node tools/test/run.ts [--unit] [--only <part of a path>]... [--concurrency N] [--timeout MINUTES] [--root FOLDER]
 *
 * A full run starts one cluster for all test files and stops it afterwards without a word, so that the summary of
 * `node --test` is the last thing printed. The exit code is that of `node --test`. In a run of everything a file that failed may
 * be looked at twice: `second-look.ts`.
 */
import { randomInt } from 'node:crypto'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findTests, needsRealThings } from './find-tests.ts'
import { type RunOptions, type RunResult, runFiles } from './run-files.ts'
import { decideSecondLook, tellFailures } from './second-look.ts'
import { startIfNeeded } from './shared-cluster.ts'

const { values: flags } = parseArgs({
  options: {
    unit: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    concurrency: { type: 'string', default: '3' },
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
  if (interrupted.signal.aborted) return 130
  const options: RunOptions = {
    root,
    // Drawn here, so that a second look has the same seeds as the first.
    env: { LATEEN_RUN_SEED: `${randomInt(2 ** 31)}`, ...process.env, ...cluster.env },
    concurrency: Number(flags.concurrency),
    timeoutMinutes: Number(flags.timeout),
    interrupted: interrupted.signal,
  }
  const first = await runFiles(files, options)
  const everything = flags.only.length === 0
  if (first.exitCode === 0 || !everything || interrupted.signal.aborted) return first.exitCode
  return await lookAgain(first, options)
}

async function lookAgain({ exitCode, failed }: RunResult, options: RunOptions): Promise<number> {
  const decided = decideSecondLook(failed)
  if ('refused' in decided) {
    console.log(`\nNo second look: ${decided.refused}.`)
    return exitCode
  }
  const told = tellFailures(failed, decided.files)
  console.log(`\nFailed, and run once more, alone and with the same seeds:\n${told}`)
  const second = await runFiles(decided.files, { ...options, concurrency: 1 })
  if (second.exitCode !== 0) return second.exitCode
  console.log(
    `\nUNSTEADY: failed beside others, passed alone. A defect of the test or of what it tests:\n${told}`,
  )
  return 0
}
